import type { ScaleAgents } from "./scale-agents.ts";
import type { ScaleCluster } from "./scale-cluster.ts";
import type { ScaleFleet } from "./scale-fleet.ts";

/** Everything that takes part. */
export interface Stage {
  readonly cluster: ScaleCluster;
  readonly fleet: ScaleFleet;
  readonly agents: ScaleAgents;
  readonly simulated: number;
  readonly real: number;
  /** The source of every cache. */
  readonly source: string;
  /** Aborted when it is to end. */
  readonly signal: AbortSignal;
}

/** How far it is, for whoever waits. */
export function say(line: string): void {
  process.stderr.write(`bench-scale: ${line}\n`);
}

/** What is a result. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
