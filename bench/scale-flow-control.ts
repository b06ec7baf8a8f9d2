/**
 * Requests that API priority and fairness turned away, by level and reason: `workload-low queue-full`.
 *
 * @param metrics what an API server says at /metrics
 */
export function turnedAway(metrics: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [, labels = "", value] of metrics.matchAll(
    /^apiserver_flowcontrol_rejected_requests_total\{(.*)\} (\S+)$/gm,
  )) {
    const label = (name: string): string => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
    const what = `${label("priority_level")} ${label("reason")}`;
    counts.set(what, (counts.get(what) ?? 0) + Number(value));
  }
  return counts;
}

/** What came in between, as `workload-low queue-full: 12`; counters of a new process begin at 0. */
export function shownIncrease(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): string {
  const shown = [...after].flatMap(([what, count]) => {
    const earlier = before.get(what) ?? 0;
    const increase = count - (count < earlier ? 0 : earlier);
    return increase > 0 ? [`${what}: ${increase}`] : [];
  });
  return shown.length === 0 ? "none" : shown.join(", ");
}
