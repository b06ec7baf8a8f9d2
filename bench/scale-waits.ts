import { setTimeout as delay } from "node:timers/promises";

import { say, type Stage } from "./scale-stage.ts";

const longestMs = 15 * 60_000;

/** Both watches of every agent are open. */
export async function allLive({ fleet, agents, simulated, real, signal }: Stage): Promise<void> {
  await within(signal, "all watches are open", async () => {
    if (fleet.live < simulated) return `${fleet.live} of ${simulated} simulated nodes`;
    const live = await agents.live();
    return live < real ? `${live} of ${real} real agents` : undefined;
  });
}

/** Creates an ImageCache, and waits until every node has it. @returns when half of them had */
export async function appears(
  { cluster, fleet, agents, ...stage }: Stage,
  name: string,
): Promise<string> {
  const began = performance.now();
  let half = Infinity;
  await cluster.declare(name, stage.source, agents.cachePath);
  await within(stage.signal, `${name} is on all nodes`, () => {
    const [simulated, real] = [fleet.synced(name), agents.synced(name)];
    if (simulated >= stage.simulated / 2) half = Math.min(half, performance.now() - began);
    const all = simulated >= stage.simulated && real >= stage.real;
    return all ? undefined : `${simulated} simulated, ${real} real`;
  });
  return `on half of them after ${(half / 1000).toFixed(1)} s`;
}

/** Kills the API servers, and waits until every agent is back. @returns how long that took */
export async function returns(stage: Stage, downSeconds: number): Promise<string> {
  await stage.cluster.restart(downSeconds * 1000);
  const ready = performance.now();
  stage.fleet.doubt();
  say("the API servers are ready");
  await allLive(stage);
  return `all watches open ${((performance.now() - ready) / 1000).toFixed(1)} s after the servers were ready`;
}

/** Deletes it, and waits until no node has its label. */
export async function vanishes({ cluster, fleet, signal }: Stage, name: string): Promise<void> {
  await cluster.remove(name);
  await within(signal, `${name} is on no node`, () => {
    const left = fleet.synced(name);
    return left === 0 ? undefined : `${left} left`;
  });
}

/** @param missing what is not there yet, to be shown; undefined: nothing */
async function within(
  signal: AbortSignal,
  what: string,
  missing: () => Promise<string | undefined> | string | undefined,
): Promise<void> {
  const deadline = performance.now() + longestMs;
  for (let look = 1; ; look++) {
    const left = await missing();
    if (left === undefined) return;
    if (performance.now() > deadline) throw new Error(`not within ${longestMs / 1000} s: ${what}`);
    if (look % 10 === 0) say(`${what}: ${left}`);
    await delay(500, undefined, { signal });
  }
}
