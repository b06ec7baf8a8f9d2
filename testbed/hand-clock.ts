import type { Clock } from "../src/registry/clock.ts";

/** A clock that goes on only when it is told to, and wakes who is due by then, in order. */
export class HandClock implements Clock {
  readonly #sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();
  readonly #epoch: number;
  #now = 0;

  /** @param epoch the date at the start, in milliseconds since 1970 */
  constructor(epoch = Date.UTC(2026, 0, 1)) {
    this.#epoch = epoch;
  }

  monotonic(): number {
    return this.#now;
  }

  date(): number {
    return this.#epoch + this.#now;
  }

  /** How many sleep now. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  async sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        this.#sleepers.delete(sleeper);
        reject(signal.reason);
      };
      const wake = (): void => {
        signal.removeEventListener("abort", abort);
        resolve();
      };
      const sleeper = { at: this.#now + milliseconds, wake };
      this.#sleepers.add(sleeper);
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  /** Lets time go by; everything that can go on at each moment has gone on. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    for (;;) {
      await settled();
      const [next] = [...this.#sleepers].sort((a, b) => a.at - b.at);
      if (next === undefined || next.at > end) break;
      this.#sleepers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.wake();
    }
    this.#now = end;
    await settled();
  }
}

/** Everything that can go on without time passing and without a server has gone on. */
export async function settled(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}
