import type { BenchImage } from "./images.ts";
import type { Measurement } from "./measure.ts";
import { spreadOf, type Spread } from "./statistics.ts";
import type { Tool } from "./tools.ts";

export interface Summary {
  readonly seconds: Spread;
  readonly cpuSeconds: Spread;
  readonly peakBytes: Spread;
  /** CPU seconds for each 10^9 bytes of files written. */
  readonly cpuPerGB: number;
}

/** Everything that one `make bench` measured. */
export class Results {
  readonly #images = new Map<BenchImage["name"], BenchImage>();
  readonly #runs = new Map<string, Measurement[]>();
  readonly #failures = new Map<string, string>();
  firstRequest: Spread | undefined;

  add(image: BenchImage, tool: Tool["name"], run: Measurement): void {
    this.#images.set(image.name, image);
    const key = `${image.name} ${tool}`;
    this.#runs.set(key, [...(this.#runs.get(key) ?? []), run]);
  }

  /** A tool that cannot do an image is a result, too. */
  fail(image: BenchImage, tool: Tool["name"], why: string): void {
    this.#images.set(image.name, image);
    this.#failures.set(`${image.name} ${tool}`, why);
  }

  failure(image: BenchImage["name"], tool: Tool["name"]): string | undefined {
    return this.#failures.get(`${image} ${tool}`);
  }

  images(): BenchImage["name"][] {
    return [...this.#images.keys()];
  }

  titleOf(image: BenchImage["name"]): string {
    return this.#images.get(image)?.title ?? image;
  }

  /** How many times smaller the image is in the registry than its files are. */
  compressionOf(image: BenchImage["name"]): number {
    const found = this.#images.get(image);
    if (found === undefined) return Number.NaN;
    return found.bytes / found.layers.reduce((sum, layer) => sum + layer.size, 0);
  }

  of(image: BenchImage["name"], tool: Tool["name"]): Summary | undefined {
    const runs = this.#runs.get(`${image} ${tool}`);
    const bytes = this.#images.get(image)?.bytes;
    if (runs === undefined || bytes === undefined) return undefined;
    const cpuSeconds = spreadOf(runs.map((run) => run.cpuSeconds));
    return {
      seconds: spreadOf(runs.map((run) => run.seconds)),
      cpuSeconds,
      peakBytes: spreadOf(runs.map((run) => run.peakBytes)),
      cpuPerGB: cpuSeconds.median / (bytes / 1e9),
    };
  }
}
