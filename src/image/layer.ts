import { LarderError } from "../errors.ts";
import { DigestCheck } from "../registry/digest.ts";
import type { Layer } from "../registry/image.ts";
import { decompress } from "./decompress.ts";
import type { TarEvent } from "./tar-entry.ts";
import { TarReader } from "./tar-reader.ts";

export interface ReadOptions {
  readonly signal: AbortSignal;
  /** Told of bytes as stored, as they arrive. */
  readonly onBytes?: (bytes: number) => void;
}

/**
 * Reads a layer as tar events, many at a time: with small files, waiting for each by itself would cost
 * more than what it says. Every byte, also after the archive's end, goes through the size, the
 * digest and the diff ID before the iteration ends without an error; what was yielded until then is
 * to be believed only after that.
 *
 * @throws LarderError `digest` when the bytes are not the ones promised, `image` when they are but
 *   make no valid layer
 */
export async function* readLayer(
  layer: Layer,
  options: ReadOptions,
): AsyncGenerator<readonly TarEvent[]> {
  const stored = new StoredBytes(layer, options);
  const diffId = new DigestCheck(layer.diffId, `the uncompressed content of ${layer.name}`);
  const reader = new TarReader(layer.name);
  try {
    for await (const block of decompress(stored.bytes(), layer.name)) {
      diffId.update(block);
      yield [...reader.push(block)];
    }
    stored.verify();
    diffId.verify();
    reader.finish();
  } catch (error) {
    // Bytes that make no sense are most often not the publisher's; the digest says so, and whose
    // fault it is decides what the reader of the error has to do.
    if (error instanceof LarderError && error.code === "image") await stored.drainAndVerify();
    throw error;
  } finally {
    await stored.close();
  }
}

/** A layer's bytes as stored: counted, hashed, and still readable when the decompressor gave up. */
class StoredBytes {
  readonly #layer: Layer;
  readonly #options: ReadOptions;
  readonly #source: AsyncIterator<Buffer>;
  readonly #check: DigestCheck | undefined;
  #read = 0;
  #verified = false;

  constructor(layer: Layer, options: ReadOptions) {
    this.#layer = layer;
    this.#options = options;
    this.#source = layer.open(options.signal)[Symbol.asyncIterator]();
    this.#check =
      layer.digest === undefined ? undefined : new DigestCheck(layer.digest, layer.name);
  }

  /** The bytes once through. Stopping early does not close the source. */
  async *bytes(): AsyncGenerator<Buffer> {
    for (
      let next = await this.#source.next();
      next.done !== true;
      next = await this.#source.next()
    ) {
      this.#options.signal.throwIfAborted();
      this.#read += next.value.length;
      this.#check?.update(next.value);
      this.#options.onBytes?.(next.value.length);
      yield next.value;
    }
  }

  verify(): void {
    if (this.#verified) return;
    if (this.#read !== this.#layer.size) {
      throw new LarderError("digest", {
        what: `${this.#layer.name} is not what it claims to be`,
        why: `expected ${this.#layer.size} bytes but it has ${this.#read}`,
        todo: "something between its publisher and this machine changed it; pull it from another copy or push it again",
      });
    }
    this.#check?.verify();
    this.#verified = true;
  }

  /** Reads what is left and checks the whole; without a digest there is nothing to learn from it. */
  async drainAndVerify(): Promise<void> {
    if (this.#check === undefined) return;
    for await (const _ of this.bytes()) void _;
    this.verify();
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }
}
