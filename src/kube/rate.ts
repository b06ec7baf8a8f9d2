import type { Clock } from "../registry/clock.ts";

export interface RateLimits {
  /** So many at once, after a long silence. */
  readonly burst: number;
  /** Milliseconds after which there may be one more. */
  readonly everyMs: number;
}

/** How often something may be done: a bucket of tokens, full at first. */
export class Rate {
  readonly #limits: RateLimits;
  readonly #clock: Pick<Clock, "monotonic">;
  /** When the bucket was empty, or would have been, on the monotonic clock. */
  #emptyAt: number;

  constructor(limits: RateLimits, clock: Pick<Clock, "monotonic">) {
    this.#limits = limits;
    this.#clock = clock;
    this.#emptyAt = clock.monotonic() - limits.burst * limits.everyMs;
  }

  /** Milliseconds until it may be done; 0: now. */
  waitMs(): number {
    return Math.max(0, this.#emptyAt + this.#limits.everyMs - this.#clock.monotonic());
  }

  /** It is done. */
  take(): void {
    const { burst, everyMs } = this.#limits;
    const full = this.#clock.monotonic() - burst * everyMs;
    this.#emptyAt = Math.max(this.#emptyAt, full) + everyMs;
  }
}
