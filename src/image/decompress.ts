import { constants, createGunzip, createZstdDecompress } from "node:zlib";

import { isSystemError, LarderError } from "../errors.ts";
import { type Engine, type Fed, Feeder } from "./feeder.ts";

export type Compression = "none" | "gzip" | "zstd";

/** Bytes that come out at a time. Small, since each block lives until it is hashed and written. */
const outputBytes = 64 * 1024;

/**
 * The largest zstd window accepted, as a power of two: what `zstd --ultra -22` makes, and so the
 * most memory that one layer can make the engine take (128 MiB).
 */
const zstdWindowLog = 27;

/** How bytes are compressed, told by the first four of them and never by a media type. */
export function compressionOf(start: Buffer): Compression {
  if (start.length >= 2 && start[0] === 0x1f && start[1] === 0x8b) return "gzip";
  if (start.length < 4) return "none";
  const magic = start.readUInt32LE(0);
  // A zstd stream may begin with a skippable frame: sixteen magic numbers in a row (RFC 8878, 3.1.2).
  if (magic === 0xfd2fb528 || (magic & 0xfffffff0) >>> 0 === 0x184d2a50) return "zstd";
  return "none";
}

/**
 * Decompresses a stream as a whole: every gzip member, every zstd frame, zero padding after the
 * last. What is neither gzip nor zstd passes as it is.
 *
 * @param source raw bytes; closed when the reader of the result stops early
 * @param what names the bytes in errors
 * @throws LarderError `image` where the stream is corrupt, cut, or followed by something else
 */
export async function* decompress(
  source: AsyncIterable<Buffer>,
  what: string,
): AsyncGenerator<Buffer> {
  const input = source[Symbol.asyncIterator]();
  try {
    const start = await firstBytes(input);
    const compression = compressionOf(start);
    if (compression === "none") yield* passThrough(start, input);
    else yield* run(compression, start, input, what);
  } finally {
    await input.return?.();
  }
}

async function firstBytes(input: AsyncIterator<Buffer>): Promise<Buffer> {
  let start: Buffer = Buffer.alloc(0);
  while (start.length < 4) {
    const next = await input.next();
    if (next.done === true) break;
    start = start.length === 0 ? next.value : Buffer.concat([start, next.value]);
  }
  return start;
}

async function* passThrough(start: Buffer, input: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  if (start.length > 0) yield start;
  for (let next = await input.next(); next.done !== true; next = await input.next()) {
    yield next.value;
  }
}

async function* run(
  compression: "gzip" | "zstd",
  start: Buffer,
  input: AsyncIterator<Buffer>,
  what: string,
): AsyncGenerator<Buffer> {
  const engine = createEngine(compression);
  const feeding = feed(start, input, new Feeder(engine));
  // A failure to read ends the loop below by destroying the engine, and is thrown there.
  feeding.catch((error: unknown) => engine.destroy(asError(error)));
  try {
    for await (const block of engine) if (Buffer.isBuffer(block)) yield block;
    refuseTrailing(engine, await feeding, compression, what);
  } catch (error) {
    throw isEngineError(error) ? corrupt(compression, what, error) : error;
  } finally {
    engine.destroy();
    // Whoever closes the input, or reads on from it, finds nobody else reading.
    await feeding.catch(() => undefined);
  }
}

function createEngine(compression: "gzip" | "zstd"): Engine {
  const options = { chunkSize: outputBytes, readableHighWaterMark: 2 * outputBytes };
  if (compression === "gzip") return createGunzip(options);
  const params = { [constants.ZSTD_d_windowLogMax]: zstdWindowLog };
  return createZstdDecompress({ ...options, params });
}

/** Reads the input to its end, also when the engine has had enough: the rest is checked too. */
async function feed(start: Buffer, input: AsyncIterator<Buffer>, feeder: Feeder): Promise<Fed> {
  await feeder.add(start);
  while (!feeder.closed) {
    const next = await input.next();
    if (next.done === true) break;
    await feeder.add(next.value);
  }
  return feeder.end();
}

/** The engines stop without a word at what is no further member or frame. */
function refuseTrailing(engine: Engine, fed: Fed, compression: Compression, what: string): void {
  if (engine.bytesWritten >= fed.meaningful) return;
  throw new LarderError("image", {
    what: `${what} cannot be decompressed`,
    why: `${fed.bytes - engine.bytesWritten} bytes that are not ${compression} follow its ${compression} stream`,
    todo: "the image is damaged or was put together wrongly; build it again",
  });
}

function corrupt(
  compression: Compression,
  what: string,
  error: Error & { code: string },
): LarderError {
  const window = error.code.endsWith("windowTooLarge");
  return new LarderError("image", {
    what: `${what} cannot be decompressed`,
    why: `its ${compression} stream is not valid (${error.message})`,
    todo: window
      ? `compress it with a window of at most ${2 ** (zstdWindowLog - 20)} MiB (without --long)`
      : "the image is damaged; build it again, or take it from another copy",
    cause: error,
  });
}

// Z_DATA_ERROR, Z_BUF_ERROR and so on; ZSTD_error_*.
function isEngineError(error: unknown): error is Error & { code: string } {
  return isSystemError(error) && /^(?:Z_|ZSTD_)/.test(error.code);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
