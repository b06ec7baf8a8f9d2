import { AgentMetrics } from "../../src/agent/metrics.ts";
import { systemClock } from "../../src/registry/clock.ts";
import type { LabelSpec } from "../../src/telemetry/metric-spec.ts";

/** An agent's metrics before anything happened. */
export function newAgent(): AgentMetrics {
  return new AgentMetrics({
    version: "0.0.0",
    node: "worker-1",
    minFree: { percent: 15 },
    clock: systemClock,
  });
}

/** What Prometheus adds to every series that it scrapes, and `docs/metrics.md` relies on. */
const targetLabels: LabelSpec = { job: "any", instance: "any" };

/** The names of everything that can be asked for, with the labels that it has. */
export function knownNames(): ReadonlyMap<string, LabelSpec> {
  const names = new Map<string, LabelSpec>([["up", targetLabels]]);
  for (const { name, type, labels } of newAgent().metrics.descriptions) {
    const all = { ...targetLabels, ...labels };
    if (type !== "histogram") names.set(name, all);
    else {
      names.set(`${name}_bucket`, { ...all, le: "any" });
      names.set(`${name}_sum`, all);
      names.set(`${name}_count`, all);
    }
  }
  return names;
}
