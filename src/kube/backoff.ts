/** How long to wait between two tries of what failed. */
export interface BackoffLimits {
  /** Milliseconds after the first failure; doubled with each that follows. */
  readonly firstMs: number;
  /** Milliseconds: it never gets longer than that. */
  readonly maxMs: number;
}

/**
 * Milliseconds until the next try: between half and all of a delay that doubles, so that many who
 * failed together do not come back together.
 *
 * @param failures in a row, at least 1
 * @param random from 0 up to, not including, 1
 */
export function backoffMs(
  failures: number,
  random: number,
  { firstMs, maxMs }: BackoffLimits,
): number {
  // Beyond 2^40 nothing changes, and a count without end must not become Infinity.
  const longest = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 40));
  return longest * (0.5 + random / 2);
}
