interface Sample {
  readonly at: number;
  readonly total: number;
}

const windowMs = 5000;
const grainMs = 200;

/** The rate of something that comes in pieces, over the last five seconds. */
export class Meter {
  readonly #samples: Sample[];
  #total = 0;

  /** @param now milliseconds, as in every call after it */
  constructor(now: number) {
    this.#samples = [{ at: now, total: 0 }];
  }

  get total(): number {
    return this.#total;
  }

  add(amount: number, now: number): void {
    this.#total += amount;
    // Pieces that come close together are one sample; the very first one is where all began.
    const before = this.#samples.at(-2);
    if (before !== undefined && now - before.at < grainMs) this.#samples.pop();
    this.#samples.push({ at: now, total: this.#total });
    while (this.#isOver(now)) this.#samples.shift();
  }

  /** Amount a second; undefined before there is enough to tell. */
  rate(now: number): number | undefined {
    const before = this.#samples.findLast((sample) => now - sample.at >= windowMs);
    const from = before ?? this.#samples[0];
    if (from === undefined || now - from.at < 2 * grainMs) return undefined;
    return ((this.#total - from.total) * 1000) / (now - from.at);
  }

  /** Whether the second sample is old enough to measure from, so that the first is not needed. */
  #isOver(now: number): boolean {
    const second = this.#samples[1];
    return second !== undefined && now - second.at >= windowMs;
  }
}
