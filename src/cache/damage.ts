import { constants, promises } from "node:fs";

import { hasCode } from "../errors.ts";
import { kindOf } from "../image/file-kind.ts";
import type { Directory } from "./directory.ts";
import { diskError, onDisk } from "./disk-error.ts";
import type { Sentinel } from "./sentinel.ts";
import { openStill, readSentinel } from "./state.ts";
import { sumLike } from "./sum.ts";

/** A file that is not what its sentinel says. */
export interface Damage {
  readonly name: string;
  /** A checksum, or what else it should be: `1024 bytes`, `a file`. */
  readonly expected: string;
  readonly actual: string;
}

const blockBytes = 1024 * 1024;

/**
 * Compares one listed file with what the sentinel says of it: kind, size, and every byte where there
 * is a checksum of a known algorithm. Undefined where nothing speaks against it.
 *
 * @throws LarderError `disk`; the signal's reason
 */
export async function findDamage(
  directory: Directory,
  name: string,
  sentinel: Sentinel,
  signal: AbortSignal,
): Promise<Damage | undefined> {
  try {
    return await compare(directory, name, sentinel, signal);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return { name, expected: "a file", actual: "missing" };
    signal.throwIfAborted();
    throw diskError(`cannot read ${directory.path}/${name}`, error);
  }
}

/**
 * Compares some files of a resource's directory with what its sentinel says of them; those that it
 * does not list are nobody's business. In words, for the first that differs.
 *
 * @throws LarderError `disk`; the signal's reason
 */
export async function findDamageAmong(
  parent: Directory,
  name: string,
  files: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const what = `cannot look at ${parent.path}/${name}`;
  const directory = onDisk(what, () => openStill(parent, name));
  if (directory === undefined) return undefined;
  using _ = directory;
  const sentinel = onDisk(what, () => readSentinel(directory))?.sentinel;
  if (sentinel === undefined) return undefined;
  const listed = new Set(sentinel.files);
  for (const file of files ?? sentinel.files) {
    if (!listed.has(file)) continue;
    const damage = await findDamage(directory, file, sentinel, signal);
    if (damage === undefined) continue;
    // What was put in place meanwhile is another directory's story.
    if (!onDisk(what, () => parent.holds(name, directory))) return undefined;
    return `${JSON.stringify(file)} should be ${damage.expected} and is ${damage.actual}`;
  }
  return undefined;
}

async function compare(
  directory: Directory,
  name: string,
  sentinel: Sentinel,
  signal: AbortSignal,
): Promise<Damage | undefined> {
  const found = directory.lookUp(name);
  if (found === undefined) return { name, expected: "a file", actual: "missing" };
  if (!found.isFile()) return { name, expected: "a file", actual: kindOf(found) };
  const size = sentinel.sizes?.get(name);
  if (size !== undefined && size !== found.size) {
    return { name, expected: `${size} bytes`, actual: `${found.size} bytes` };
  }
  const expected = sentinel.sums?.get(name);
  if (expected === undefined) return undefined;
  const block = Buffer.allocUnsafe(Math.min(blockBytes, found.size + 1));
  const actual = await sumOf(directory.at(name), expected, block, signal);
  return actual === undefined || actual === expected ? undefined : { name, expected, actual };
}

/**
 * Undefined for an algorithm that is not known here.
 *
 * @param block what is read into: of a small file's size, a mebibyte for each of 100,000 costs minutes
 */
async function sumOf(
  path: string,
  like: string,
  block: Buffer,
  signal: AbortSignal,
): Promise<string | undefined> {
  const sum = sumLike(like);
  if (sum === undefined) return undefined;
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  await using handle = await promises.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(block, 0, block.length);
    if (bytesRead === 0) return sum.text();
    sum.update(block.subarray(0, bytesRead));
  }
}
