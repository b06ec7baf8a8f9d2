/** `make bench-scale`: what ten thousand agents ask of an API server; docs/scale.md says how. */
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";

import { cacheFolder } from "../testbed/cache-folder.ts";
import { startDockerRegistry } from "../testbed/docker-registry.ts";
import { buildImage, pushImage } from "../testbed/image-builder.ts";
import { cpuSecondsOf, memoryOf } from "./process-figures.ts";
import { requestRates } from "./request-rates.ts";
import { ScaleAgents } from "./scale-agents.ts";
import { ScaleCluster } from "./scale-cluster.ts";
import { ScaleFleet } from "./scale-fleet.ts";

const phases = ["steady", "new", "removed", "spread", "restart"] as const;
/** Milliseconds that a pull of the small image takes a real agent, about. */
const pullMs = 100;
const spreadSeconds = 60;
/** Two watches, and one connection for all other requests while there are any. */
const connectionsEach = 3;
/** Files that an API server has open besides. */
const reserved = 1000;
const longestMs = 15 * 60_000;

const { values: options } = parseArgs({
  options: {
    /** All, with the real ones. */
    nodes: { type: "string", default: "10000" },
    /** How many of them are real agents. */
    agents: { type: "string", default: "50" },
    /** 0: as many as it takes, by the number of files that a process may have open here. */
    "api-servers": { type: "string", default: "0" },
    /** Seconds of the look at rest. */
    steady: { type: "string", default: "300" },
    /** Nodes that come up in a second. */
    ramp: { type: "string", default: "150" },
    only: { type: "string", multiple: true, default: [...phases] },
  },
});

interface Stage {
  readonly cluster: ScaleCluster;
  readonly fleet: ScaleFleet;
  readonly agents: ScaleAgents;
  readonly simulated: number;
  readonly real: number;
  /** The source of every cache. */
  readonly source: string;
}

function say(line: string): void {
  process.stderr.write(`bench-scale: ${line}\n`);
}

async function main(): Promise<void> {
  const [nodes, real] = [Number(options.nodes), Number(options.agents)];
  const simulated = nodes - real;
  const apiServers = Number(options["api-servers"]) || (await enough(nodes));
  await mkdir(cacheFolder(), { recursive: true });
  const home = await mkdtemp(join(cacheFolder(), "bench-scale-"));
  const registry = await startDockerRegistry();
  try {
    const small = { entries: [{ path: "small.tar", content: "small" }] };
    await pushImage(registry.url, "small", "1", buildImage({ layers: [small] }));
    await using cluster = await ScaleCluster.start(apiServers);
    using fleet = new ScaleFleet(Math.max(1, Math.ceil(simulated / 3500)));
    const place = { home, ca: cluster.plane.ca, registry: registry.host };
    await using agents = new ScaleAgents(place);
    const source = `${registry.host}/small:1`;
    const stage: Stage = { cluster, fleet, agents, simulated, real, source };
    print(`${nodes} nodes, ${real} of them real agents; ${apiServers} API server(s)`);
    await run(stage);
  } finally {
    await registry.stop();
    await rm(home, { recursive: true, force: true });
  }
}

async function run(stage: Stage): Promise<void> {
  const { cluster, fleet, agents, simulated, real } = stage;
  say("making nodes and tokens");
  const seats = await cluster.seats(
    Array.from({ length: simulated + real }, (_, index) => `node-${index}`),
  );
  const own = seats.slice(0, real);
  await phase(stage, "all come up", async () => {
    await agents.start(own, []);
    fleet.begin(seats.slice(real), cluster.plane.ca, pullMs, Number(options.ramp));
    await allLive(stage);
  });
  const wanted = (name: (typeof phases)[number]): boolean => options.only.includes(name);
  if (wanted("steady")) {
    await phase(stage, "steady state", async () => delay(Number(options.steady) * 1000));
  }
  if (wanted("new")) {
    await phase(stage, "a new ImageCache, no spread", async () => appears(stage, "first"));
  }
  if (wanted("removed")) {
    await phase(stage, "an ImageCache removed", async () => vanishes(stage, "first"));
  }
  if (wanted("spread")) {
    fleet.spread(spreadSeconds * 1000);
    await agents.start(own, [`--pull-spread=${spreadSeconds}s`]);
    await allLive(stage);
    await phase(stage, `a new ImageCache, --pull-spread=${spreadSeconds}s`, async () =>
      appears(stage, "second"),
    );
  }
  if (wanted("restart")) {
    await phase(stage, "every API server killed and started", async () => {
      await cluster.restart();
      say("the API servers are ready");
      await allLive(stage);
    });
  }
}

/** Every figure of a span of time: what was asked, and what it took. */
async function phase(stage: Stage, title: string, work: () => Promise<void>): Promise<void> {
  const { cluster, fleet } = stage;
  say(title);
  fleet.takeLagMs();
  const mark = await cluster.mark();
  const pids = fleet.pids;
  const [before, loadBefore] = [await cluster.usage(), await cpuOf(pids)];
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1000;
  const [after, loadAfter] = [await cluster.usage(), await cpuOf(pids)];
  // Of those that were started meanwhile, all of it is of this phase.
  const cpu = after.cpuSeconds - (after.cpuSeconds < before.cpuSeconds ? 0 : before.cpuSeconds);
  const rates = requestRates(await cluster.since(mark));
  const rss = after.memory.map((each) => each.toFixed(0)).join(" + ");
  const load = await Promise.all(pids.map(async (pid) => (await memoryOf(pid)).rss));
  print(`\n${title}: ${seconds.toFixed(1)} s
API servers: ${cpu.toFixed(1)} CPU s (${(cpu / seconds).toFixed(2)} cores), ${rss} MiB
load: ${(loadAfter - loadBefore).toFixed(1)} CPU s, ${load.map((each) => each.toFixed(0)).join(" + ")} MiB, late by ${fleet.takeLagMs().toFixed(0)} ms at the worst; watches lost so far: ${fleet.lost}
load average of the machine: ${loadavg()[0]?.toFixed(1)}

| requests | in all | a second | most in a second | refused |
| --- | --- | --- | --- | --- |`);
  for (const { what, count, peak, refused } of rates) {
    print(`| ${what} | ${count} | ${(count / seconds).toFixed(1)} | ${peak} | ${refused} |`);
  }
}

/** Both watches of every agent are open. */
async function allLive({ fleet, agents, simulated, real }: Stage): Promise<void> {
  await within("all watches are open", async () => {
    if (fleet.live < simulated) return `${fleet.live} of ${simulated} simulated nodes`;
    const live = await agents.live();
    return live < real ? `${live} of ${real} real agents` : undefined;
  });
}

async function appears({ cluster, fleet, agents, ...stage }: Stage, name: string): Promise<void> {
  await cluster.declare(name, stage.source, agents.cachePath);
  await within(`${name} is on all nodes`, () => {
    const [simulated, real] = [fleet.synced(name), agents.synced(name)];
    const all = simulated >= stage.simulated && real >= stage.real;
    return all ? undefined : `${simulated} simulated, ${real} real`;
  });
}

async function vanishes({ cluster, fleet }: Stage, name: string): Promise<void> {
  await cluster.remove(name);
  await within(`${name} is on no node`, () => {
    const left = fleet.synced(name);
    return left === 0 ? undefined : `${left} left`;
  });
}

/** @param missing what is not there yet, to be shown; undefined: nothing */
async function within(
  what: string,
  missing: () => Promise<string | undefined> | string | undefined,
): Promise<void> {
  const deadline = performance.now() + longestMs;
  for (let look = 1; ; look++) {
    const left = await missing();
    if (left === undefined) return;
    if (performance.now() > deadline) throw new Error(`not within ${longestMs / 1000} s: ${what}`);
    if (look % 10 === 0) say(`${what}: ${left}`);
    await delay(500);
  }
}

/** How many API servers it takes for all connections. */
async function enough(nodes: number): Promise<number> {
  const limits = await readFile("/proc/self/limits", "utf8");
  const files = Number(/^Max open files\s+\d+\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
  return Math.ceil(nodes / ((files - reserved) / connectionsEach));
}

async function cpuOf(pids: readonly number[]): Promise<number> {
  const seconds = await Promise.all(pids.map(cpuSecondsOf));
  return seconds.reduce((sum, each) => sum + each, 0);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
