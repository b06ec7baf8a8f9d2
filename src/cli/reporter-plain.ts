import { printable } from "../errors.ts";
import type { Image, Layer } from "../registry/image.ts";
import { formatBytes } from "../cache/amount.ts";
import { LayerBoard } from "./layer-board.ts";
import { doneLine, plainLine } from "./progress.ts";
import type { Reporter } from "./reporter.ts";
import type { Output, Shell } from "./shell.ts";

const everyMs = 10_000;

/** Progress for a log: a line when a layer starts, every ten seconds, and when it is done. */
export class PlainReporter implements Reporter {
  readonly #out: Output;
  readonly #board: LayerBoard;
  readonly #stop: () => void;

  constructor({ err, now, every }: Pick<Shell, "err" | "now" | "every">) {
    this.#out = err;
    this.#board = new LayerBoard(now);
    this.#stop = every(everyMs, () => {
      for (const layer of this.#board.running) this.note(plainLine(layer));
    });
  }

  opened(image: Image): void {
    this.#board.open(image);
  }

  layerStarted(index: number, layer: Layer): void {
    const name = this.#board.start(index, layer);
    this.note(`${name}: started, ${formatBytes(layer.size)}`);
  }

  layerRead(index: number, bytes: number): void {
    this.#board.read(index, bytes);
  }

  layerDone(index: number): void {
    const layer = this.#board.finish(index);
    if (layer !== undefined) this.note(doneLine(layer));
  }

  note(line: string): void {
    this.#out.write(`${printable(line)}\n`);
  }

  warn(line: string): void {
    this.note(`larder: warning: ${line}`);
  }

  status(text: string): void {
    this.note(text);
  }

  end(): void {
    this.#stop();
  }
}
