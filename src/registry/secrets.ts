/** Shorter ones would be found in any text; where one of these occurs, the text goes as a whole. */
const shortest = 6;

/**
 * Remembers what must never be shown, and takes it out of what servers say: they echo headers, form
 * fields and URLs in their errors.
 */
export class Secrets {
  readonly #known = new Set<string>();

  add(secret: string): void {
    if (secret === "") return;
    this.#known.add(secret);
    this.#known.add(encodeURIComponent(secret.toWellFormed()));
    this.#known.add(Buffer.from(secret).toString("base64"));
  }

  /** `text` without secrets and without the queries of URLs; empty where nothing safe remains. */
  scrub(text: string): string {
    let scrubbed = text.replace(/([a-z][a-z0-9+.-]*:\/\/[^\s?"'<>]*)\?[^\s"'<>]*/gi, "$1?...");
    // The longest first: one secret may be the beginning of another.
    for (const secret of [...this.#known].sort((a, b) => b.length - a.length)) {
      if (!scrubbed.includes(secret)) continue;
      if (secret.length < shortest) return "";
      scrubbed = scrubbed.replaceAll(secret, "***");
    }
    return scrubbed;
  }
}
