import { loadavg } from "node:os";

import { cpuSecondsOf, memoryOf } from "./process-figures.ts";
import { requestRates } from "./request-rates.ts";
import { shownIncrease } from "./scale-flow-control.ts";
import { simulatedAgent } from "./scale-messages.ts";
import { print, say, type Stage } from "./scale-stage.ts";

/**
 * Every figure of a span of time: what was asked, and what it took.
 *
 * @param work returns what there is to say besides
 */
export async function phase(
  stage: Stage,
  title: string,
  work: () => Promise<string | void>,
): Promise<void> {
  const { cluster, fleet } = stage;
  say(title);
  fleet.takeLagMs();
  const mark = await cluster.mark();
  const start = new Date();
  const pids = fleet.pids;
  const awayBefore = await cluster.turnedAway();
  const [before, loadBefore] = [await cluster.usage(), await cpuOf(pids)];
  const began = performance.now();
  const said = await work();
  const seconds = (performance.now() - began) / 1000;
  const [after, loadAfter] = [await cluster.usage(), await cpuOf(pids)];
  // Of those that were started meanwhile, all of it is of this phase.
  const cpu = after.cpuSeconds - (after.cpuSeconds < before.cpuSeconds ? 0 : before.cpuSeconds);
  // A watch of before that ended meanwhile is in the log too.
  const entries = (await cluster.since(mark)).filter(({ received }) => received >= start);
  const rates = requestRates(entries);
  const away = shownIncrease(awayBefore, await cluster.turnedAway());
  // The simulation is as good as these two are alike.
  const ofSimulated = entries.filter(({ userAgent }) => userAgent === simulatedAgent).length;
  const ofReal = entries.length - ofSimulated;
  const rss = after.memory.map((each) => each.toFixed(0)).join(" + ");
  const load = await Promise.all(pids.map(async (pid) => (await memoryOf(pid)).rss));
  print(`\n${title}: ${seconds.toFixed(1)} s${said ? `; ${said}` : ""}
API servers: ${cpu.toFixed(1)} CPU s (${(cpu / seconds).toFixed(2)} cores), ${rss} MiB
load: ${(loadAfter - loadBefore).toFixed(1)} CPU s, ${load.map((each) => each.toFixed(0)).join(" + ")} MiB, late by ${fleet.takeLagMs().toFixed(0)} ms at the worst; watches lost so far: ${fleet.lost}
requests a node: ${(ofReal / stage.real).toFixed(2)} of a real one's, ${(ofSimulated / stage.simulated).toFixed(2)} of a simulated one's
turned away by priority and fairness: ${away}
load average of the machine: ${loadavg()[0]?.toFixed(1)}

| requests | in all | a second | most in a second | refused |
| --- | --- | --- | --- | --- |`);
  for (const { what, count, peak, refused } of rates) {
    print(`| ${what} | ${count} | ${(count / seconds).toFixed(1)} | ${peak} | ${refused} |`);
  }
}

async function cpuOf(pids: readonly number[]): Promise<number> {
  const seconds = await Promise.all(pids.map(cpuSecondsOf));
  return seconds.reduce((sum, each) => sum + each, 0);
}
