import { constants } from "node:fs";
import { open, stat, type FileHandle } from "node:fs/promises";

import { isSystemError } from "../errors.ts";

const largestBytes = 4 * 1024 * 1024;

/** A file this young may change again without its times showing it: clocks of file systems tick coarsely. */
const settledAfterMs = 2_000;

/** A small file that others may change or replace at any time, parsed again when they did. */
export class ChangingFile<T> {
  readonly path: string;
  readonly #parse: (bytes: Buffer) => T;
  readonly #now: () => number;
  #last: { readonly value: T; readonly fingerprint: string } | undefined;

  /**
   * @param parse may throw; what it throws is not kept
   * @param now milliseconds since the epoch
   */
  constructor(path: string, parse: (bytes: Buffer) => T, now: () => number = Date.now) {
    this.path = path;
    this.#parse = parse;
    this.#now = now;
  }

  /**
   * What the file says now; the same value as before when it did not change.
   *
   * @throws the system's error, a `FileFault`, or what `parse` throws
   */
  async read(): Promise<T> {
    const now = await stat(this.path, { bigint: true });
    if (this.#last?.fingerprint === fingerprintOf(now)) return this.#last.value;
    if (!now.isFile()) throw new FileFault("it is not a regular file");
    // Not to hang where a pipe took its place since.
    const handle = await open(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return await this.#readFrom(handle);
    } finally {
      await handle.close();
    }
  }

  async #readFrom(handle: FileHandle): Promise<T> {
    const before = await handle.stat({ bigint: true });
    if (before.size > largestBytes) throw new FileFault("it is larger than 4 MiB");
    const value = this.#parse(await readAll(handle, Number(before.size)));
    const settled = this.#now() - Number(before.ctimeMs) > settledAfterMs;
    this.#last = settled ? { value, fingerprint: fingerprintOf(before) } : undefined;
    return value;
  }
}

/** Why a file that is there cannot be read; the message continues `cannot read <file>: `. */
class FileFault extends Error {}

/** A failed `read` in words, without the path, which the caller's message has. */
export function describeFileError(error: unknown): string {
  if (error instanceof FileFault) return error.message;
  if (!isSystemError(error)) return "it cannot be read";
  switch (error.code) {
    case "ENOENT":
    case "ENOTDIR":
      return "it does not exist";
    case "EACCES":
    case "EPERM":
      return "this user may not read it";
    case "EISDIR":
      return "it is a directory";
    default:
      return `the system answered ${error.code}`;
  }
}

/** At most `size` bytes: one that is being written to while it is read has no end otherwise. */
async function readAll(handle: FileHandle, size: number): Promise<Buffer> {
  const buffer = Buffer.alloc(size);
  let filled = 0;
  while (filled < size) {
    const { bytesRead } = await handle.read(buffer, filled, size - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

interface Times {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

function fingerprintOf({ dev, ino, size, mtimeNs, ctimeNs }: Times): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}
