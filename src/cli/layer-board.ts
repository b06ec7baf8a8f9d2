import type { Image, Layer } from "../registry/image.ts";
import { Meter } from "./meter.ts";
import type { LayerProgress } from "./progress.ts";

interface Entry {
  readonly name: string;
  readonly size: number;
  readonly startedAt: number;
  readonly meter: Meter;
}

/** Keeps what is known of the layers of a fill, by their index. */
export class LayerBoard {
  readonly #now: () => number;
  readonly #running = new Map<number, Entry>();
  #count: number | undefined;
  #done = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  open(image: Image): void {
    this.#count = image.layers.length;
  }

  /** Returns what the layer is called from now on. */
  start(index: number, layer: Layer): string {
    const now = this.#now();
    const of = this.#count === undefined ? "" : ` of ${this.#count}`;
    const name = `layer ${index + 1}${of}`;
    this.#running.set(index, { name, size: layer.size, startedAt: now, meter: new Meter(now) });
    return name;
  }

  read(index: number, bytes: number): void {
    this.#running.get(index)?.meter.add(bytes, this.#now());
  }

  /** Takes a layer off the board; returns how it ended. */
  finish(index: number): LayerProgress | undefined {
    const entry = this.#running.get(index);
    if (entry === undefined) return undefined;
    this.#running.delete(index);
    this.#done += 1;
    return this.#view(entry);
  }

  /** The layers being read, lowest first. */
  get running(): readonly LayerProgress[] {
    const entries = [...this.#running].sort(([a], [b]) => a - b);
    return entries.map(([, entry]) => this.#view(entry));
  }

  /** Whether every layer has been read. */
  get finished(): boolean {
    return this.#done === this.#count;
  }

  #view({ name, size, startedAt, meter }: Entry): LayerProgress {
    const now = this.#now();
    const milliseconds = now - startedAt;
    return { name, size, read: meter.total, rate: meter.rate(now), milliseconds };
  }
}
