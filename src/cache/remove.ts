import { randomBytes } from "node:crypto";
import * as fs from "node:fs";

import { hasCode, LarderError } from "../errors.ts";
import { pathOnly, type Directory } from "./directory.ts";
import { Slices } from "./slices.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = fs.constants;

/** What lies deeper is moved up before it is emptied: each level takes a descriptor and stack. */
const deepest = 64;

/** The directory that a removal began with, open. */
interface Top {
  readonly self: string;
  /** How many directories from further down are in it now. */
  lifted: number;
}

/**
 * Removes an entry of a directory and all that is in it; none there is fine. Follows no link, makes
 * unreadable directories readable first, and copes with others who remove the same. An interruption
 * does not end it, since it is what an interruption does; but that may take only so long.
 *
 * @param hurry leaves the rest to the next run once it aborts
 * @throws the system's errors; LarderError `interrupted` where something is left
 */
export async function removeEntry(
  parent: Directory,
  name: string,
  hurry?: AbortSignal,
): Promise<void> {
  try {
    await removeAt(parent.self, Buffer.from(name), new Slices(hurry));
  } catch (error) {
    throw hurry?.aborted === true && error === hurry.reason ? leftBehind(parent, name) : error;
  }
}

function leftBehind(parent: Directory, name: string): LarderError {
  return new LarderError("interrupted", {
    what: `cannot remove all of ${parent.path}/${name}`,
    why: "it was told to stop, and there are more files than can be removed in the time for that",
    todo: "run it again to finish: that removes what is left first",
  });
}

// Names are bytes here: whatever somebody put into a leftover must go, UTF-8 or not.
async function removeAt(
  parent: string,
  name: Buffer,
  slices: Slices,
  depth = 0,
  above?: Top,
): Promise<void> {
  const path = Buffer.concat([Buffer.from(`${parent}/`), name]);
  if (unlinked(path)) return;
  if (above !== undefined && depth > deepest) return lift(path, above);
  // Somebody else may be making an entry in it; whoever that is learns of the removal soon.
  for (let tries = 1; !removedEmpty(path, tries < 100);) {
    const fd = openToEmpty(path);
    if (fd === undefined) return;
    try {
      const self = `/proc/self/fd/${fd}`;
      const top = above ?? { self, lifted: 0 };
      for (const entry of fs.readdirSync(self, { encoding: "buffer" })) {
        await removeAt(self, entry, slices, depth + 1, top);
        await slices.pause();
      }
      if (above !== undefined || top.lifted === 0) tries += 1;
    } finally {
      fs.closeSync(fd);
    }
  }
}

/** Moves a directory up to where the removal began, which empties it in its next round. */
function lift(path: Buffer, top: Top): void {
  const fd = openToEmpty(path);
  if (fd === undefined) return;
  fs.closeSync(fd);
  try {
    fs.renameSync(path, `${top.self}/lifted-${randomBytes(8).toString("hex")}`);
    top.lifted += 1;
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
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
    const handle = fs.openSync(path, pathOnly | O_DIRECTORY | O_NOFOLLOW);
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
