import type { Gunzip, ZstdDecompress } from "node:zlib";

export type Engine = Gunzip | ZstdDecompress;

/** Bytes handed to the engine at a time: each hand-over is a round trip to the thread pool. */
const blockBytes = 256 * 1024;

/** An empty skippable frame (RFC 8878, 3.1.2). */
const emptyFrame = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]);

/** How much went into an engine, for comparing with what it took. */
export interface Fed {
  readonly bytes: number;
  /** The same without the zero bytes at the very end. */
  readonly meaningful: number;
}

/**
 * Feeds an engine from pieces of any size through two buffers that take turns: one is filled while
 * the engine works on the other. The buffers are reused, so feeding makes no garbage.
 */
export class Feeder {
  readonly #engine: Engine;
  #filling = Buffer.allocUnsafeSlow(blockBytes);
  #resting = Buffer.allocUnsafeSlow(blockBytes);
  #filled = 0;
  #writing: Promise<void> = Promise.resolve();
  #bytes = 0;
  #meaningful = 0;
  /** The last bytes fed, three at most. */
  #tail = Buffer.alloc(0);

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Nothing more is wanted: the engine failed or its reader left. */
  get closed(): boolean {
    return this.#engine.destroyed && !this.#engine.readableEnded;
  }

  async add(piece: Buffer): Promise<void> {
    for (let at = 0; at < piece.length;) {
      const copied = piece.copy(this.#filling, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (this.#filled === blockBytes) await this.#flush();
    }
  }

  /** Says that there is no more; resolves when the engine has seen everything. */
  async end(): Promise<Fed> {
    await this.#flush();
    await this.#writing;
    // One to three bytes of a frame's magic number at the very end are dropped by the zstd engine
    // without a word. A whole frame after them tells: only at a frame's end is it taken.
    if ("reset" in this.#engine && endsLikeFrameStart(this.#tail)) await this.#write(emptyFrame);
    if (!this.#engine.destroyed) this.#engine.end();
    return { bytes: this.#bytes, meaningful: this.#meaningful };
  }

  async #flush(): Promise<void> {
    await this.#writing;
    const full = this.#filling;
    const block = full.subarray(0, this.#filled);
    this.#filling = this.#resting;
    this.#resting = full;
    this.#filled = 0;
    this.#writing = this.#write(block);
  }

  /** Resolves when the engine is done with the block, or never will be. */
  async #write(block: Buffer): Promise<void> {
    if (block.length === 0) return;
    this.#account(block);
    const engine = this.#engine;
    if (engine.destroyed || engine.readableEnded) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        engine.off("close", done).off("end", done);
        resolve();
      };
      engine.once("close", done).once("end", done);
      engine.write(block, done);
    });
  }

  #account(block: Buffer): void {
    let end = block.length;
    while (end > 0 && block[end - 1] === 0) end--;
    if (end > 0) this.#meaningful = this.#bytes + end;
    this.#bytes += block.length;
    this.#tail = Buffer.concat([this.#tail, block.subarray(-3)]).subarray(-3);
  }
}

/** Whether bytes end in the first one, two or three bytes of a zstd or skippable frame's magic. */
function endsLikeFrameStart(tail: Buffer): boolean {
  const ends = [1, 2, 3].map((length) => tail.subarray(-length).toString("latin1"));
  return ends.some((end) =>
    /^(?:\x28|\x28\xb5|\x28\xb5\x2f|[\x50-\x5f]|[\x50-\x5f]\x2a|[\x50-\x5f]\x2a\x4d)$/.test(end),
  );
}
