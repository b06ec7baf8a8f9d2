import * as fs from "node:fs";

import { syncData } from "./file.ts";

/** Bytes after which what was written is sent on its way, so that the last flush is short. */
const syncEvery = 32 * 1024 * 1024;

/**
 * A file written block by block: a block is on its way while the next one is being made, and the
 * disk is kept busy with what came before. Throws the system's errors, late ones at the next call.
 */
export class BigFile {
  readonly #fd: number;
  readonly #sync: (fd: number) => Promise<void>;
  #position = 0;
  #synced = 0;
  #writing: Promise<void> | undefined;
  #syncing: Promise<void> | undefined;

  constructor(fd: number, sync: (fd: number) => Promise<void> = syncData) {
    this.#fd = fd;
    this.#sync = sync;
  }

  /** Resolves when the block before this one is written; the bytes must not change meanwhile. */
  async write(bytes: Buffer): Promise<void> {
    await this.#writing;
    const position = this.#position;
    this.#position += bytes.length;
    this.#writing = quiet(writeAll(this.#fd, bytes, position));
    if (position - this.#synced < syncEvery) return;
    this.#synced = position;
    await this.#syncing;
    this.#syncing = quiet(this.#sync(this.#fd));
  }

  /** Waits until nothing is written any more; a flush under way ends, and closes, by itself. */
  async abandon(): Promise<void> {
    await Promise.allSettled([this.#writing]);
    void Promise.allSettled([this.#syncing]).then(() => fs.closeSync(this.#fd));
  }

  /** Waits until all is written, makes it durable if asked to, and closes. */
  async close(durable: boolean): Promise<void> {
    try {
      await this.#writing;
      await this.#syncing;
      if (durable) await this.#sync(this.#fd);
    } finally {
      await Promise.allSettled([this.#writing, this.#syncing]);
      fs.closeSync(this.#fd);
    }
  }
}

/** A failure is seen by whoever awaits next; until then nobody does, and that is no accident. */
function quiet(work: Promise<void>): Promise<void> {
  work.catch(() => {});
  return work;
}

function writeAll(fd: number, bytes: Buffer, position: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const from = (offset: number): void => {
      fs.write(fd, bytes, offset, bytes.length - offset, position + offset, (error, written) => {
        if (error !== null) reject(error);
        else if (offset + written >= bytes.length) resolve();
        else from(offset + written);
      });
    };
    from(0);
  });
}
