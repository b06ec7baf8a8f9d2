import * as fs from "node:fs";

import type { Directory, Owner } from "./directory.ts";

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;

/**
 * Creates a file that must not exist, never through a link: mode 0644 whatever the umask and the
 * directory's default ACL say, of the given owner. Throws the system's errors.
 */
export function createFile(path: string, owner: Owner | undefined): number {
  const fd = fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644);
  try {
    if (owner !== undefined) fs.fchownSync(fd, owner.uid, owner.gid);
    fs.fchmodSync(fd, 0o644);
    return fd;
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

/**
 * Writes a small file whole and makes its content durable, not its name. Throws system errors, and
 * whatever the pieces throw.
 *
 * @param content the whole of it, or pieces that are made as they are written
 */
export async function writeDurably(
  directory: Directory,
  name: string,
  content: string | Generator<string>,
  owner: Owner | undefined,
): Promise<void> {
  const fd = createFile(directory.at(name), owner);
  try {
    for (const piece of typeof content === "string" ? [content] : content) {
      fs.writeFileSync(fd, piece);
    }
    await syncDescriptor(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/** fsync, off the main thread. */
export function syncDescriptor(fd: number): Promise<void> {
  return settle((done) => fs.fsync(fd, done));
}

/** fdatasync, off the main thread. */
export function syncData(fd: number): Promise<void> {
  return settle((done) => fs.fdatasync(fd, done));
}

function settle(start: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}
