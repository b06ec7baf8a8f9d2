import type { Stats } from "node:fs";

/** What kind of thing an entry of a directory is, with its article. */
export function kindOf(stats: Stats): string {
  if (stats.isFile()) return "a file";
  if (stats.isDirectory()) return "a directory";
  if (stats.isSymbolicLink()) return "a symbolic link";
  if (stats.isSocket()) return "a socket";
  return stats.isFIFO() ? "a pipe" : "a device";
}
