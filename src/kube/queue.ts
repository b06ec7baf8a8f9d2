import { systemClock, type Clock } from "../registry/clock.ts";
import { backoffMs, type BackoffLimits } from "./backoff.ts";
import { Bell } from "./bell.ts";

/** What a work says about its key. */
export interface Again {
  /** Milliseconds until it is to be looked at again, whatever happens. */
  readonly againMs?: number;
}

export interface QueueOptions {
  /** Reads the present of one key and converges it. `signal` aborts when the queue is to end. */
  // oxlint-disable-next-line typescript/no-invalid-void-type -- a work that has nothing to say returns nothing
  readonly work: (key: string, signal: AbortSignal) => Promise<Again | void>;
  /** Keys at work at one time. Default 1. */
  readonly concurrency?: number;
  /** Between two tries of a key that failed. Default 1 s, doubled up to 5 minutes. */
  readonly backoff?: BackoffLimits;
  readonly clock?: Clock;
  /** From 0 up to, not including, 1. */
  readonly random?: () => number;
  /** A work failed and is tried again after `delayMs`. Not called for what an abort made fail. */
  readonly onError?: (key: string, error: unknown, delayMs: number) => void;
}

/**
 * Keys to work on. A key that is there already is not added twice, and the earliest time that was asked
 * for holds. No key is ever at work twice at one time: one that is added meanwhile has its turn again
 * afterwards. A failed key comes back by itself, later with each failure; being added brings it at once.
 */
export class Queue {
  readonly #options: QueueOptions;
  readonly #clock: Clock;
  readonly #bell: Bell;
  /** Key to the time, on the monotonic clock, from which on it is due. */
  readonly #delayed = new Map<string, number>();
  /** Due, in the order in which they became so. */
  readonly #ready = new Set<string>();
  readonly #working = new Map<string, Promise<void>>();
  /** In a row. */
  readonly #failures = new Map<string, number>();
  /** The earliest time in `#delayed`. */
  #nextAt = Infinity;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#bell = new Bell(this.#clock);
  }

  /** Takes a key, also while nothing runs. @param afterMs milliseconds from which on it is due */
  add(key: string, afterMs = 0): void {
    if (afterMs > 0) this.#delay(key, this.#clock.monotonic() + afterMs);
    else {
      this.#delayed.delete(key);
      this.#ready.add(key);
    }
    this.#bell.ring();
  }

  /** Works until the signal aborts; returns when every work that was begun has ended. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waitMs = this.#start(signal);
      await this.#bell.wait(waitMs, signal);
    }
    await Promise.all(this.#working.values());
  }

  #delay(key: string, at: number): void {
    if (this.#ready.has(key)) return;
    const earliest = Math.min(at, this.#delayed.get(key) ?? Infinity);
    this.#delayed.set(key, earliest);
    this.#nextAt = Math.min(this.#nextAt, earliest);
  }

  /** Starts what may be started. @returns milliseconds until something is due; undefined: nothing is */
  #start(signal: AbortSignal): number | undefined {
    const now = this.#clock.monotonic();
    if (now >= this.#nextAt) this.#moveDue(now);
    const { concurrency = 1 } = this.#options;
    for (const key of this.#ready) {
      if (this.#working.size >= concurrency) break;
      if (!this.#working.has(key)) this.#begin(key, signal);
    }
    return this.#nextAt === Infinity ? undefined : this.#nextAt - now;
  }

  #moveDue(now: number): void {
    const due = [...this.#delayed].filter(([, at]) => at <= now).sort(([, a], [, b]) => a - b);
    for (const [key] of due) {
      this.#delayed.delete(key);
      this.#ready.add(key);
    }
    this.#nextAt = Infinity;
    for (const at of this.#delayed.values()) this.#nextAt = Math.min(this.#nextAt, at);
  }

  #begin(key: string, signal: AbortSignal): void {
    this.#ready.delete(key);
    const work = this.#work(key, signal).finally(() => {
      this.#working.delete(key);
      this.#bell.ring();
    });
    this.#working.set(key, work);
  }

  async #work(key: string, signal: AbortSignal): Promise<void> {
    try {
      const said = await this.#options.work(key, signal);
      this.#failures.delete(key);
      const againMs = said?.againMs;
      if (againMs !== undefined) this.add(key, againMs);
    } catch (error) {
      if (signal.aborted) this.add(key);
      else this.#failed(key, error);
    }
  }

  #failed(key: string, error: unknown): void {
    const { random = Math.random, backoff = defaultBackoff, onError } = this.#options;
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const delayMs = backoffMs(failures, random(), backoff);
    this.add(key, delayMs);
    onError?.(key, error, delayMs);
  }
}

const defaultBackoff: BackoffLimits = { firstMs: 1_000, maxMs: 300_000 };
