/** Shorter ones would be found in any text; where one of these occurs, the text goes as a whole. */
const shortest = 6;

/** More than all requests that are under way at a time can hold, each a few. */
const mostByDefault = 200;

/**
 * Remembers what must never be shown, and takes it out of what servers say: they echo headers, form
 * fields and URLs in their errors. A process that runs for months sees tokens without end, so those
 * that were not used for longest are forgotten; whoever sends one adds it again each time.
 */
export class Secrets {
  /** Every form in which a secret is sent, by the secret; what was added last comes last. */
  readonly #forms = new Map<string, readonly string[]>();
  readonly #most: number;

  /** @param most how many secrets are remembered */
  constructor(most = mostByDefault) {
    this.#most = most;
  }

  add(secret: string): void {
    if (secret === "") return;
    const forms = this.#forms.get(secret) ?? formsOf(secret);
    this.#forms.delete(secret);
    this.#forms.set(secret, forms);
    const [oldest] = this.#forms.keys();
    if (this.#forms.size > this.#most && oldest !== undefined) this.#forms.delete(oldest);
  }

  /** `text` without secrets and without the queries of URLs; empty where nothing safe remains. */
  scrub(text: string): string {
    let scrubbed = text.replace(/([a-z][a-z0-9+.-]*:\/\/[^\s?"'<>]*)\?[^\s"'<>]*/gi, "$1?...");
    // The longest first: one secret may be the beginning of another.
    for (const secret of [...this.#forms.values()].flat().sort((a, b) => b.length - a.length)) {
      if (!scrubbed.includes(secret)) continue;
      if (secret.length < shortest) return "";
      scrubbed = scrubbed.replaceAll(secret, "***");
    }
    return scrubbed;
  }
}

function formsOf(secret: string): readonly string[] {
  return [
    secret,
    encodeURIComponent(secret.toWellFormed()),
    Buffer.from(secret).toString("base64"),
  ];
}
