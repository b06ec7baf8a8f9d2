import { placeOf, type CacheSpec } from "./cache-spec.ts";

/**
 * A directory that is the agent's to remove and that nothing claims. Pure: what may go when is
 * decided here, and nowhere else.
 */
export interface Orphan {
  readonly cachePath: string;
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /**
   * Somebody deleted the resource, or turned its selector away, while the agent watched. Otherwise it
   * is merely missing, as after a rebuild of the cluster.
   */
  readonly seen: boolean;
}

export interface Delays {
  /** Milliseconds from a deletion that was seen. */
  readonly seenMs: number;
  /** Milliseconds for what is merely missing. */
  readonly missingMs: number;
}

/** A directory on the disk. */
export interface Found {
  readonly cachePath: string;
  readonly name: string;
}

/** Milliseconds since 1970 at which an orphan may go. */
export function dueAt(orphan: Orphan, { seenMs, missingMs }: Delays): number {
  return orphan.since + (orphan.seen ? seenMs : missingMs);
}

/**
 * The records after another look: a claim ends a record, a directory that is not there needs none,
 * and one that is seen for the first time is missing as of now. A record from the future, which a
 * clock that was set back makes, begins anew. What is in a path that could not be looked at keeps its
 * record.
 *
 * @param found directories that are the agent's, or nobody's
 * @param scanned the cache paths that were looked at
 * @param desired what claims
 */
export function nextOrphans(
  before: readonly Orphan[],
  found: readonly Found[],
  scanned: ReadonlySet<string>,
  desired: readonly CacheSpec[],
  now: number,
): readonly Orphan[] {
  const known = new Map(before.map((orphan) => [placeOf(orphan), orphan]));
  const claimed = new Set(desired.map(placeOf));
  const unseen = before.filter((orphan) => !scanned.has(orphan.cachePath));
  const there = found
    .filter((directory) => !claimed.has(placeOf(directory)))
    .map(({ cachePath, name }) => {
      const record = known.get(placeOf({ cachePath, name }));
      if (record !== undefined && record.since <= now) return record;
      return { cachePath, name, since: now, seen: record?.seen ?? false };
    });
  return [...unseen.filter((orphan) => !claimed.has(placeOf(orphan))), ...there];
}

/**
 * Remembers that a claim ended before the agent's eyes. The record of one that was merely missing
 * is replaced: somebody decided.
 */
export function withSeen(
  before: readonly Orphan[],
  { cachePath, name }: Found,
  now: number,
): readonly Orphan[] {
  const others = before.filter((orphan) => placeOf(orphan) !== placeOf({ cachePath, name }));
  return [...others, { cachePath, name, since: now, seen: true }];
}
