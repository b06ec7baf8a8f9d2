import type { AuditEntry } from "../testbed/audit-log.ts";

/** Requests of one kind in a span of time. */
export interface RequestRate {
  /** `patch nodes`. */
  readonly what: string;
  readonly count: number;
  /** In the second that had the most. */
  readonly peak: number;
  /** Those that were refused, by status: `429: 12`. */
  readonly refused: string;
}

/**
 * What was asked, by verb and resource, the most frequent first; `all` comes before the rest.
 *
 * @param entries of the agents alone
 */
export function requestRates(entries: readonly AuditEntry[]): readonly RequestRate[] {
  const kinds = Map.groupBy(entries, ({ verb, resource }) => `${verb} ${resource ?? "(other)"}`);
  const rates = [...kinds].map(([what, some]) => rateOf(what, some));
  return [rateOf("all", entries), ...rates.sort((a, b) => b.count - a.count)];
}

function rateOf(what: string, entries: readonly AuditEntry[]): RequestRate {
  const seconds = countBy(entries, ({ received }) => Math.floor(received.getTime() / 1000));
  const failed = entries.filter(({ status }) => status !== undefined && status >= 400);
  const statuses = [...countBy(failed, ({ status }) => status)];
  return {
    what,
    count: entries.length,
    peak: Math.max(0, ...seconds.values()),
    refused: statuses.map(([status, count]) => `${status}: ${count}`).join(", "),
  };
}

function countBy<K>(entries: readonly AuditEntry[], key: (entry: AuditEntry) => K): Map<K, number> {
  const counts = new Map<K, number>();
  for (const entry of entries) counts.set(key(entry), (counts.get(key(entry)) ?? 0) + 1);
  return counts;
}
