import type { Clock } from "../registry/clock.ts";

/**
 * A clock whose date goes on evenly from what it is now, however the system's is set meanwhile: a node
 * without a clock of its own starts in the past, and what waits for a day must not be over when the
 * right time is heard of.
 */
export function steadyClock(clock: Clock): Clock {
  const epoch = clock.date() - clock.monotonic();
  return {
    monotonic: () => clock.monotonic(),
    date: () => epoch + clock.monotonic(),
    sleep: async (milliseconds, signal) => clock.sleep(milliseconds, signal),
  };
}
