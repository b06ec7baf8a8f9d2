import { printable } from "../errors.ts";
import type { Reporter } from "./reporter.ts";
import type { Output } from "./shell.ts";

/**
 * Says nothing but warnings: whoever lets a timer run this wants to hear when something should be
 * looked at.
 */
export class QuietReporter implements Reporter {
  readonly #out: Output;

  constructor(out: Output) {
    this.#out = out;
  }

  warn(line: string): void {
    this.#out.write(`larder: warning: ${printable(line)}\n`);
  }

  opened(): void {}
  layerStarted(): void {}
  layerRead(): void {}
  layerDone(): void {}
  note(): void {}
  status(): void {}
  end(): void {}
}
