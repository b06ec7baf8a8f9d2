import type { BackoffLimits } from "./backoff.ts";

/** Every bound of list and watch in one place. */
export interface InformerLimits {
  /** Seconds after which the server ends a watch: random, so that a fleet's do not end together. */
  readonly leastTimeoutSeconds: number;
  readonly mostTimeoutSeconds: number;
  /** Milliseconds without a byte; bookmarks come every minute. */
  readonly silenceMs: number;
  /** Milliseconds without an object, while a list is streamed. */
  readonly listSilenceMs: number;
  /** Between failures. */
  readonly backoff: BackoffLimits;
  /** Milliseconds: no server makes it wait longer than that. */
  readonly longestRetryAfterMs: number;
  /** A watch that lasted for so many milliseconds was a success: delays begin anew. */
  readonly calmMs: number;
  /** Milliseconds by which a watch may end before its time: clocks differ. */
  readonly earlyMs: number;
}

export const informerLimits: InformerLimits = {
  leastTimeoutSeconds: 290,
  mostTimeoutSeconds: 590,
  silenceMs: 300_000,
  listSilenceMs: 30_000,
  backoff: { firstMs: 500, maxMs: 30_000 },
  longestRetryAfterMs: 300_000,
  calmMs: 5_000,
  earlyMs: 1_000,
};

/** A whole number of seconds for one watch. */
export function timeoutOf(random: number, limits: InformerLimits): number {
  const { leastTimeoutSeconds: least, mostTimeoutSeconds: most } = limits;
  return least + Math.floor(random * (most - least + 1));
}
