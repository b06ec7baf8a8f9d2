import { interrupted } from "../errors.ts";
import type { Clock } from "./clock.ts";
import { Failure } from "./failure.ts";
import type { Notify } from "./image.ts";
import type { Limits } from "./limits.ts";

export interface RetryOptions {
  readonly limits: Limits;
  readonly clock: Clock;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  readonly notify: Notify;
}

/** How often and how long one thing may fail before it has failed. */
export class Budget {
  readonly #options: RetryOptions;
  readonly #what: string;
  #failures = 0;
  #since: number;

  /** @param what what is tried again, for the notice: `the manifest of registry.example.com/app:1` */
  constructor(options: RetryOptions, what: string) {
    this.#options = options;
    this.#what = what;
    this.#since = options.clock.monotonic();
  }

  /** It got further than ever before: the count of failures starts anew. */
  progressed(): void {
    this.#failures = 0;
    this.alive();
  }

  /** Bytes are coming: the time without progress starts anew, the count does not. */
  alive(): void {
    this.#since = this.#options.clock.monotonic();
  }

  /**
   * Waits until the next try, or throws `error`: at once where no further try can help, otherwise once
   * tries or time are used up.
   */
  async spend(error: unknown, signal: AbortSignal): Promise<void> {
    if (!(error instanceof Failure) || !error.retryable || signal.aborted) throw error;
    const { limits, clock, notify } = this.#options;
    this.#failures += 1;
    if (this.#failures >= limits.tries) throw error.final(`tried ${this.#failures} times`);
    const asked = error.parts.retryAfterMs ?? 0;
    const delayMs = Math.max(asked, this.#backoff());
    const spent = clock.monotonic() - this.#since;
    if (spent + delayMs > limits.withoutProgressMs) throw error.final(this.#outOfTime(asked));
    notify({ kind: "retry", what: this.#what, why: error.parts.why, delayMs });
    try {
      await clock.sleep(delayMs, signal);
    } catch (reason) {
      throw interrupted(`cannot get ${this.#what}`, reason);
    }
  }

  /** Between half and all of a delay that doubles, so that many nodes do not come back as one. */
  #backoff(): number {
    const { limits, random } = this.#options;
    return limits.backoffMs * 2 ** (this.#failures - 1) * (0.5 + random() / 2);
  }

  #outOfTime(askedMs: number): string {
    const limit = this.#options.limits.withoutProgressMs;
    if (askedMs > limit) {
      return `and asks to wait ${Math.ceil(askedMs / 1000)} s, longer than Larder waits`;
    }
    return `tried ${this.#failures} times, and ${limit / 1000} s without progress are the limit`;
  }
}

/** Tries `attempt` until it succeeds, fails for good, or its budget is used up. */
export async function retrying<T>(
  options: RetryOptions,
  what: string,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  const budget = new Budget(options, what);
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      await budget.spend(error, signal);
    }
  }
}
