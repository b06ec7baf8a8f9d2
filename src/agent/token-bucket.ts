import { interrupted } from "../errors.ts";
import type { Clock } from "../registry/clock.ts";

/** One of those who share a bucket; each gets as much as any other, however often it asks. */
export interface Share {
  /**
   * Waits until so many bytes may go.
   *
   * @param what for the error: `cannot get layer 1 of 2 of registry.example.com/app:1`
   * @throws LarderError `interrupted`, at once when `signal` aborts
   */
  take(bytes: number, what: string, signal: AbortSignal): Promise<void>;
}

interface Waiting {
  readonly bytes: number;
  /** Its place in the order: what its share was promised before, in bytes. */
  readonly start: number;
  readonly grant: () => void;
}

/** What may pile up while nobody asks, in seconds: a burst is no longer than that, or one block. */
const burstSeconds = 0.25;

/**
 * Hands out bytes at a rate. A block that is larger than what may pile up goes when the bucket is full
 * and leaves a debt, so the rate holds for blocks of any size. Who is next is decided by start-time fair
 * queueing: a share's place is what it was promised so far, and one that was idle begins at the present.
 */
export class TokenBucket {
  readonly #rate: number;
  readonly #clock: Clock;
  readonly #waiting: Waiting[] = [];
  #tokens: number;
  #counted: number;
  /** The place in the order of who was served last. */
  #virtual = 0;
  #serving = false;
  /** Ends the present sleep: who was waited for may have gone. */
  #alarm = new AbortController();

  constructor({ bytesPerSecond, clock }: { bytesPerSecond: number; clock: Clock }) {
    this.#rate = bytesPerSecond;
    this.#clock = clock;
    this.#tokens = this.#capacity;
    this.#counted = clock.monotonic();
  }

  /** A place among those who share; it needs no end. */
  share(): Share {
    let promised = 0;
    return {
      take: (bytes, what, signal) => {
        const start = Math.max(promised, this.#virtual);
        promised = start + bytes;
        return this.#take(bytes, start, what, signal);
      },
    };
  }

  get #capacity(): number {
    return this.#rate * burstSeconds;
  }

  #take(bytes: number, start: number, what: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(interrupted(what, signal.reason));
        return;
      }
      const stop = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        this.#alarm.abort();
        reject(interrupted(what, signal.reason));
      };
      const grant = (): void => {
        signal.removeEventListener("abort", stop);
        resolve();
      };
      const waiting: Waiting = { bytes, start, grant };
      signal.addEventListener("abort", stop, { once: true });
      this.#waiting.push(waiting);
      if (!this.#serving) void this.#serve();
    });
  }

  /** Runs while somebody waits, so that no timer outlives them. */
  async #serve(): Promise<void> {
    this.#serving = true;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const delayMs = this.#delayFor(next.bytes);
      if (delayMs > 0) await this.#sleep(delayMs);
      else this.#grant(next);
    }
    this.#serving = false;
  }

  #next(): Waiting | undefined {
    let next = this.#waiting[0];
    for (const waiting of this.#waiting) {
      if (next === undefined || waiting.start < next.start) next = waiting;
    }
    return next;
  }

  #grant(next: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    this.#tokens -= next.bytes;
    this.#virtual = next.start;
    next.grant();
  }

  /** Milliseconds until so many bytes may go. */
  #delayFor(bytes: number): number {
    const now = this.#clock.monotonic();
    const earned = ((now - this.#counted) / 1000) * this.#rate;
    this.#tokens = Math.min(this.#capacity, this.#tokens + earned);
    this.#counted = now;
    const missing = Math.min(bytes, this.#capacity) - this.#tokens;
    // What rounding leaves over is less than a byte, and must not become a sleep of nothing.
    return missing < 1e-6 ? 0 : (missing / this.#rate) * 1000;
  }

  async #sleep(milliseconds: number): Promise<void> {
    this.#alarm = new AbortController();
    const { signal } = this.#alarm;
    try {
      await this.#clock.sleep(milliseconds, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
