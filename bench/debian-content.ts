import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

/** Where Debian packages put each kind of file; what a machine does not have is passed over. */
const kinds = {
  binaries: ["/usr/bin", "/usr/sbin", "/usr/libexec"],
  libraries: ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"],
  sources: ["/usr/include", "/usr/lib/python3", "/usr/share/perl", "/usr/share/nodejs"],
} as const;

const pieceLimit = 4 * 1024 * 1024;

/**
 * One file cut from this machine's binaries, libraries and sources, a third each, as a real image
 * has them side by side. A machine with too few of one kind gives them again from the start, which
 * gzip, with its window of 32 KiB, does not notice.
 * @param part of `parts`: each part takes other files
 */
export async function debianContent(bytes: number, part: number, parts: number): Promise<Buffer> {
  const each = Math.ceil(bytes / 3);
  const content = await Promise.all(
    Object.values(kinds).map(async (folders) => {
      const files = (await Promise.all(folders.map(filesBelow))).flat().sort();
      return cut(
        files.filter((_, index) => index % parts === part),
        each,
      );
    }),
  );
  return Buffer.concat(content).subarray(0, bytes);
}

async function cut(files: readonly string[], bytes: number): Promise<Buffer> {
  const content = Buffer.alloc(bytes);
  let filled = 0;
  while (filled < bytes) {
    const before = filled;
    for (const path of files) {
      if (filled >= bytes) break;
      filled += (await readFile(path)).subarray(0, pieceLimit).copy(content, filled);
    }
    if (filled === before)
      throw new Error("the benchmark's real image: no files of Debian packages");
  }
  return content;
}

async function filesBelow(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = found.filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  return paths.filter((_, index) => (sizes[index] ?? 0) > 0);
}
