import { constants, promises } from "node:fs";

import { hasCode } from "../errors.ts";
import { kindOf } from "../image/file-kind.ts";
import type { Directory } from "./directory.ts";
import { diskError } from "./disk-error.ts";
import type { Sentinel } from "./sentinel.ts";
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
