import type { Image, Layer } from "../registry/image.ts";
import { Flattening, type Survivor } from "./flatten.ts";
import { readLayer } from "./layer.ts";
import type { TarEntry, TarEvent } from "./tar-entry.ts";

/** Takes the files of an image as they stream past. Files of different layers are open at once. */
export interface Sink {
  /**
   * Begins a file. Whether it survives is not known yet: a later layer may hide it.
   *
   * @param id counts from 0 and tells the file apart in `unpack`'s result
   * @param name base name that it will have if it survives; two files may ask for one name
   * @param size bytes that will be written
   */
  create(id: number, name: string, size: number): SinkFile;
}

export interface SinkFile {
  /**
   * May keep the bytes beyond the promise, until the next `write` or `end` of this file resolves, or
   * for good: nobody changes them.
   */
  write(bytes: Buffer): void | Promise<void>;
  /** All bytes were written. */
  end(): void | Promise<void>;
}

/** Told how a fill goes on, for a progress line. Layers are counted from 0, lowest first. */
export interface Progress {
  layerStarted(index: number, layer: Layer): void;
  /** @param bytes as stored, since the last call */
  layerRead(index: number, bytes: number): void;
  layerDone(index: number): void;
}

export interface UnpackOptions {
  readonly signal: AbortSignal;
  readonly progress?: Progress;
}

/**
 * How many layers are read at a time: enough that the hashing of one overlaps with the inflating
 * of another; more costs memory and gains nothing (docs/performance.md).
 */
const layersAtOnce = 3;

/**
 * Streams all layers of an image into a sink and tells which files are left when they are laid over
 * each other. The others were written too, and are the sink's to delete.
 *
 * @throws LarderError of the first layer that failed; the other layers have stopped by then
 */
export async function unpack(
  image: Image,
  sink: Sink,
  options: UnpackOptions,
): Promise<readonly Survivor[]> {
  const flattening = new Flattening(image.name);
  const failure = new AbortController();
  const signal = AbortSignal.any([options.signal, failure.signal]);
  const waiting = image.layers.entries();

  const work = async (): Promise<void> => {
    for (const [index, layer] of waiting) {
      const run = { index, layer, flattening, sink, signal, progress: options.progress };
      await unpackLayer(run).catch((error: unknown) => {
        failure.abort(error);
      });
      if (signal.aborted) return;
    }
  };
  await Promise.all(Array.from({ length: layersAtOnce }, work));

  signal.throwIfAborted();
  return flattening.survivors();
}

interface LayerRun {
  readonly index: number;
  readonly layer: Layer;
  readonly flattening: Flattening;
  readonly sink: Sink;
  readonly signal: AbortSignal;
  readonly progress: Progress | undefined;
}

async function unpackLayer(run: LayerRun): Promise<void> {
  const { index, layer, signal, progress } = run;
  const files = new FileStream(run);
  progress?.layerStarted(index, layer);
  const onBytes = (bytes: number): void => progress?.layerRead(index, bytes);
  for await (const events of readLayer(layer, { signal, onBytes })) {
    for (const event of events) {
      const taken = files.take(event);
      // Nobody else runs between two small files, so nothing can have changed.
      if (taken === undefined) continue;
      await taken;
      signal.throwIfAborted();
    }
    signal.throwIfAborted();
  }
  progress?.layerDone(index);
}

/** Turns the tar events of one layer into calls of the sink. */
class FileStream {
  readonly #run: LayerRun;
  #file: SinkFile | undefined;
  #left = 0;

  constructor(run: LayerRun) {
    this.#run = run;
  }

  /** Returns a promise only where the sink does: with small files it would be one for each event. */
  take(event: TarEvent): void | Promise<void> {
    return event.type === "entry" ? this.#begin(event.entry) : this.#write(event.bytes);
  }

  #begin(entry: TarEntry): void | Promise<void> {
    const file = this.#run.flattening.add(this.#run.index, entry);
    if (file === undefined) {
      this.#file = undefined;
      return undefined;
    }
    this.#file = this.#run.sink.create(file.id, file.name, entry.size);
    this.#left = entry.size;
    return this.#left === 0 ? this.#file.end() : undefined;
  }

  #write(bytes: Buffer): void | Promise<void> {
    const file = this.#file;
    if (file === undefined) return undefined;
    this.#left -= bytes.length;
    const written = file.write(bytes);
    if (this.#left > 0) return written;
    return written === undefined ? file.end() : written.then(() => file.end());
  }
}
