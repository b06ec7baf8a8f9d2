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

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  date: () => Date.now(),
  sleep: async (milliseconds, signal) => {
    await delay(milliseconds, undefined, { signal });
  },
};
