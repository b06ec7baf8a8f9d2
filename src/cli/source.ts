/** What `larder import` reads from: a file or directory, or an image reference. */
export type Source =
  | { readonly kind: "archive"; readonly path: string }
  | { readonly kind: "reference"; readonly text: string };

const archiveSuffixes = [".tar", ".tar.gz", ".tgz", ".tar.zst"] as const;

/** Endings that make a source a path, for help and completion. */
export const archiveEndings: readonly string[] = archiveSuffixes;

/**
 * Tells a path from a reference by shape alone. What lies in the current directory must not
 * matter: the same line in a script has to mean the same everywhere.
 */
export function sourceOf(text: string): Source {
  const isPath =
    text.startsWith("/") ||
    text.startsWith(".") ||
    archiveSuffixes.some((suffix) => text.endsWith(suffix));
  return isPath ? { kind: "archive", path: text } : { kind: "reference", text };
}
