import { setTimeout as delay } from "node:timers/promises";

/** Lets so many go on in a second, in the order in which they came. */
export class Pace {
  readonly #stepMs: number;
  /** When the next may go on, by `performance.now()`. */
  #next = 0;

  constructor(perSecond: number) {
    this.#stepMs = 1000 / perSecond;
  }

  async turn(): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, this.#next);
    this.#next = at + this.#stepMs;
    if (at > now) await delay(at - now);
  }
}
