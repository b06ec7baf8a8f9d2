import { setTimeout as delay } from "node:timers/promises";

/** Time, passed in so that tests of long waits are short. */
export interface Clock {
  /** Milliseconds that only ever grow. */
  monotonic(): number;
  /** Milliseconds since 1970, for dates that servers send. */
  date(): number;
  /** Rejects with the signal's reason when it aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

/** Node's timers fire at once when they are asked for more: 24.8 days. */
const longestTimer = 2 ** 31 - 1;

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  date: () => Date.now(),
  sleep: async (milliseconds, signal) => {
    const end = performance.now() + milliseconds;
    let left = milliseconds;
    do {
      await delay(Math.min(Math.max(left, 0), longestTimer), undefined, { signal }).catch(() => {});
      signal.throwIfAborted();
      left = end - performance.now();
    } while (left > 0);
  },
};
