import * as fs from "node:fs";

import { hasCode } from "../errors.ts";
import type { Directory } from "./directory.ts";
import { diskError } from "./disk-error.ts";
import { findForeign, foreignError } from "./foreign.ts";
import { syncDescriptor } from "./file.ts";
import { makeAccessible, removeEntry } from "./remove.ts";
import { sentinelName } from "./sentinel.ts";
import { findMissing, readSentinel } from "./state.ts";

/*
 * A run's hidden directory holds at most: `new`, the content being filled, whole when it has a
 * sentinel; `old`, the former content while the swap lasts; `gone`, what is only being deleted;
 * `spare`, files of which it is not known yet whether they are needed; and the socket.
 */

/**
 * Puts `new` in the place of a name, whole and durable content for whatever stood there. A crash
 * leaves either the old content in place, or the new one, or neither and both in the hidden
 * directory, for `recover`.
 *
 * @throws LarderError `foreign`; `disk`: what stood there is back in place then
 */
export async function swap(parent: Directory, hidden: Directory, name: string): Promise<void> {
  const what = `cannot put the new content of ${parent.path}/${name} in place`;
  try {
    // Nothing may be moved before what it is moved into is durable itself.
    await hidden.sync();
    await parent.sync();
    exchange(parent, hidden, name);
    await parent.sync();
    await hidden.sync();
  } catch (error) {
    throw diskError(what, error);
  }
}

/**
 * Goes on where a dead run stopped, and removes its hidden directory. Only for who holds the lock of
 * that name.
 *
 * @param hurry as `removeEntry` takes it
 * @throws LarderError `disk`; `interrupted` where something is left of it
 */
export async function recover(
  parent: Directory,
  entry: string,
  name: string,
  hurry?: AbortSignal,
): Promise<void> {
  const what = `cannot clear up ${parent.path}/${entry}, which a dead run left`;
  try {
    makeAccessible(parent, entry);
    await restore(parent, entry, name);
    await discard(parent, entry, hurry);
  } catch (error) {
    throw diskError(what, error);
  }
}

/** Without a pause between the two steps: nothing else of this process runs, nothing interrupts. */
function exchange(parent: Directory, hidden: Directory, name: string): void {
  // Somebody may have put something else there, or removed the sentinel, during the pull.
  const foreign = findForeign(parent, name);
  if (foreign !== undefined) throw foreignError(parent, name, foreign);
  const hadOld = moved(parent.at(name), hidden.at("old"));
  try {
    fs.renameSync(hidden.at("new"), parent.at(name));
  } catch (error) {
    if (hadOld) fs.renameSync(hidden.at("old"), parent.at(name));
    throw error;
  }
}

/** If the crash was in the middle of a swap, finishes it, or takes it back where `new` is not whole. */
async function restore(parent: Directory, entry: string, name: string): Promise<void> {
  if (parent.lookUp(name) !== undefined || parent.lookUp(entry)?.isDirectory() !== true) return;
  using hidden = parent.open(entry);
  const source = (await isWhole(hidden, "new")) ? "new" : "old";
  if (isEmpty(hidden, source)) return;
  if (!moved(hidden.at(source), parent.at(name))) return;
  await parent.sync();
  await hidden.sync();
}

function isEmpty(parent: Directory, name: string): boolean {
  if (parent.lookUp(name)?.isDirectory() !== true) return true;
  using directory = parent.open(name);
  return directory.list().length === 0;
}

/** Whether a directory has a sentinel and all that it lists; flushes the sentinel then. */
async function isWhole(hidden: Directory, name: string): Promise<boolean> {
  if (hidden.lookUp(name)?.isDirectory() !== true) return false;
  using directory = hidden.open(name);
  const sentinel = readSentinel(directory)?.sentinel;
  if (sentinel === undefined) return false;
  if ((await findMissing(directory, sentinel)) !== undefined) return false;
  await flushSentinel(directory);
  return true;
}

async function flushSentinel(directory: Directory): Promise<void> {
  const fd = fs.openSync(
    directory.at(sentinelName),
    fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW,
  );
  try {
    await syncDescriptor(fd);
  } finally {
    fs.closeSync(fd);
  }
  await directory.sync();
}

/**
 * Removes a hidden directory. The former content is renamed first: half deleted, it must not come
 * back as content that needs repair, or, without its sentinel, as somebody else's.
 */
async function discard(
  parent: Directory,
  entry: string,
  hurry: AbortSignal | undefined,
): Promise<void> {
  if (parent.lookUp(entry)?.isDirectory() === true) {
    using hidden = parent.open(entry);
    await setAside(hidden, hurry);
  }
  await removeEntry(parent, entry, hurry);
}

/** Makes the former content in a hidden directory something that is only being deleted. */
export async function setAside(hidden: Directory, hurry?: AbortSignal): Promise<void> {
  await removeEntry(hidden, "gone", hurry);
  moved(hidden.at("old"), hidden.at("gone"));
}

/** A rename; false when there was nothing to rename. */
function moved(from: string, to: string): boolean {
  try {
    fs.renameSync(from, to);
    return true;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return false;
    throw error;
  }
}
