import { constants, type BigIntStats } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";

import { interrupted, LarderError } from "../errors.ts";
import { cannotRead, refuseKind } from "./disk-error.ts";

/** Large enough that the cost of a read is the copy, small enough to stop within a moment. */
const readBytes = 256 * 1024;

/** A regular file that is read by position and must not change meanwhile. */
export class DiskFile {
  readonly path: string;
  /** In bytes, when it was opened. */
  readonly size: number;
  readonly #handle: FileHandle;
  readonly #opened: BigIntStats;

  private constructor(path: string, handle: FileHandle, opened: BigIntStats) {
    this.path = path;
    this.size = Number(opened.size);
    this.#handle = handle;
    this.#opened = opened;
  }

  /**
   * @param links whether a symbolic link at the end of the path is followed
   * @throws LarderError `disk` where it cannot be opened, `image` where it is not a regular file
   */
  static async open(path: string, links: "follow" | "refuse"): Promise<DiskFile> {
    // Without O_NONBLOCK, opening a pipe would wait for a writer for ever.
    const flags = constants.O_RDONLY | constants.O_NONBLOCK;
    const noFollow = links === "refuse" ? constants.O_NOFOLLOW : 0;
    const handle = await open(path, flags | noFollow).catch((error: unknown) => {
      throw cannotRead(path, error);
    });
    try {
      const stats = await handle.stat({ bigint: true });
      if (!stats.isFile()) throw refuseKind(path, stats);
      return new DiskFile(path, handle, stats);
    } catch (error) {
      await handle.close();
      throw cannotRead(path, error);
    }
  }

  /** Bytes from `start` up to `end`, both within the file; each block is the reader's to keep. */
  async *read(start: number, end: number, signal: AbortSignal): AsyncGenerator<Buffer> {
    for (let at = start; at < end;) {
      const block = await this.readAt(at, Math.min(readBytes, end - at), signal);
      if (block.length === 0) throw this.#changed();
      at += block.length;
      yield block;
    }
    await this.refuseChange();
  }

  /** Up to `length` bytes at `start`: fewer where the system says so, none at the end of the file. */
  async readAt(start: number, length: number, signal: AbortSignal): Promise<Buffer> {
    if (signal.aborted) throw interrupted(`reading ${this.path}`, signal.reason);
    const buffer = Buffer.allocUnsafeSlow(length);
    try {
      const { bytesRead } = await this.#handle.read(buffer, 0, length, start);
      return buffer.subarray(0, bytesRead);
    } catch (error) {
      throw cannotRead(this.path, error);
    }
  }

  /** @throws LarderError `disk` when the file is not as it was when it was opened */
  async refuseChange(): Promise<void> {
    const now = await this.#handle.stat({ bigint: true }).catch((error: unknown) => {
      throw cannotRead(this.path, error);
    });
    if (now.size !== this.#opened.size || now.mtimeNs !== this.#opened.mtimeNs) {
      throw this.#changed();
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  #changed(): LarderError {
    return new LarderError("disk", {
      what: `cannot read ${this.path}`,
      why: "it changed while it was read",
      todo: "wait until whatever writes it has finished, then run this again",
      retryable: true,
    });
  }
}
