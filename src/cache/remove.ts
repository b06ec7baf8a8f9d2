import * as fs from "node:fs";

import type { Directory } from "./directory.ts";
import { hasCode } from "./disk-error.ts";
import { Slices } from "./slices.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = fs.constants;
/** Linux's O_PATH, which Node does not name: opens what may not be read. */
const O_PATH = 0o10000000;

/**
 * Removes an entry of a directory and all that is in it; none there is fine. Follows no link, makes
 * unreadable directories readable first, and copes with others who remove the same. Throws the
 * system's errors. Cannot be interrupted: it is what an interruption does.
 */
export async function removeEntry(parent: Directory, name: string): Promise<void> {
  await removeAt(parent.self, Buffer.from(name), new Slices());
}

// Names are bytes here: whatever somebody put into a leftover must go, UTF-8 or not.
async function removeAt(parent: string, name: Buffer, slices: Slices): Promise<void> {
  const path = Buffer.concat([Buffer.from(`${parent}/`), name]);
  if (unlinked(path)) return;
  // Somebody else may be making an entry in it; whoever that is learns of the removal soon.
  for (let tries = 1; !removedEmpty(path, tries < 100); tries += 1) {
    const fd = openToEmpty(path);
    if (fd === undefined) return;
    try {
      const self = `/proc/self/fd/${fd}`;
      for (const entry of fs.readdirSync(self, { encoding: "buffer" })) {
        await removeAt(self, entry, slices);
        await slices.pause();
      }
    } finally {
      fs.closeSync(fd);
    }
  }
}

/** False when it is a directory. */
function unlinked(path: Buffer): boolean {
  try {
    fs.unlinkSync(path);
    return true;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return true;
    if (hasCode(error, "EISDIR")) return false;
    throw error;
  }
}

/** False when there is something in it and `mayFail`. */
function removedEmpty(path: Buffer, mayFail: boolean): boolean {
  try {
    fs.rmdirSync(path);
    return true;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return true;
    if (mayFail && hasCode(error, "ENOTEMPTY", "EEXIST")) return false;
    throw error;
  }
}

/** Undefined when it is gone. */
function openToEmpty(path: Buffer): number | undefined {
  try {
    const handle = fs.openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    try {
      const self = `/proc/self/fd/${handle}`;
      makeWritable(self, fs.fstatSync(handle));
      return fs.openSync(self, O_RDONLY | O_DIRECTORY);
    } finally {
      fs.closeSync(handle);
    }
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Lets the process use a directory of its own whose mode forbids it. Throws the system's errors. */
export function makeAccessible(parent: Directory, name: string): void {
  if (parent.lookUp(name)?.isDirectory() !== true) return;
  using handle = parent.openHandle(name);
  makeWritable(handle.self, handle.stat());
}

/** Somebody else's stays as it is, and the error comes from what is tried next. */
function makeWritable(path: string, { mode, uid }: fs.Stats): void {
  if ((mode & 0o700) !== 0o700 && uid === process.geteuid?.()) fs.chmodSync(path, 0o700);
}
