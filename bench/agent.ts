/** `make bench-agent`: what the agent costs a node, at rest and at work. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";

import type { AgentProcess } from "../testbed/agent-process.ts";
import { cacheFolder } from "../testbed/cache-folder.ts";
import { until } from "../testbed/until.ts";
import { AgentStage, type Trial } from "./agent-stage.ts";
import { cpuSecondsOf, memoryOf } from "./process-figures.ts";
import { spreadOf, type Spread } from "./statistics.ts";

const parts = ["latency", "idle", "rest", "pulls"] as const;
const resources = 10;
/** Seconds after which an agent that has nothing to do has settled. */
const settleSeconds = 20;
/** Seconds after a pull when nothing of it should be left. */
const afterPullSeconds = 60;
const { values: options } = parseArgs({
  options: {
    /** Seconds of the look at CPU at rest. */
    rest: { type: "string", default: "600" },
    /** Sizes of the cluster. */
    nodes: { type: "string", default: "1,1000,10000" },
    only: { type: "string", multiple: true, default: [...parts] },
    /** How often latencies are taken. */
    times: { type: "string", default: "20" },
    /** Flags of Node's to try, besides those that Larder always has. */
    flags: { type: "string", default: "" },
    /** Variables to try: `--env MALLOC_ARENA_MAX=1`. */
    env: { type: "string", multiple: true, default: [] },
  },
});

const rows: string[] = [];

function row(what: string, figure: string): void {
  rows.push(`| ${what} | ${figure} |`);
  process.stderr.write(`bench-agent: ${what}: ${figure}\n`);
}

function shown({ median, min, max }: Spread): string {
  const ms = (seconds: number): string => String(Math.round(seconds * 1000));
  return `${ms(median)} ms (${ms(min)} to ${ms(max)})`;
}

async function main(): Promise<void> {
  await mkdir(cacheFolder(), { recursive: true });
  const home = await mkdtemp(join(cacheFolder(), "bench-agent-"));
  try {
    await using stage = await AgentStage.start(home);
    const trial: Trial = {
      flags: options.flags.split(" ").filter((flag) => flag !== ""),
      env: Object.fromEntries(options.env.map((each) => each.split("=", 2))),
    };
    const agent = stage.agent(["--gc-delay=0"], trial);
    await using _ = agent;
    await until("it is ready", async () => (await agent.get("/readyz")).status === 200);
    if (wanted("latency")) await latencies(stage, agent);
    for (let index = 0; index < resources; index++) {
      await stage.declare(`cache-${index}`, stage.small);
    }
    for (let index = 0; index < resources; index++) await stage.synced(`cache-${index}`);
    if (wanted("idle")) await idle(stage, agent);
    if (wanted("rest")) await rest(agent);
    // Two agents on one cache path would share the work.
    await agent.stop();
    if (wanted("pulls")) await peaks(stage, trial);
    process.stdout.write(["| | |", "| --- | --- |", ...rows, ""].join("\n"));
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

function wanted(part: (typeof parts)[number]): boolean {
  return options.only.includes(part);
}

async function latencies(stage: AgentStage, agent: AgentProcess): Promise<void> {
  const toSynced: number[] = [];
  const toReturn: number[] = [];
  for (let time = 0; time < Number(options.times); time++) {
    const name = `latency-${time}`;
    let began = performance.now();
    await stage.declare(name, stage.small);
    await stage.synced(name);
    toSynced.push((performance.now() - began) / 1000);
    // Its own file-system events are over.
    await delay(300);
    const pulls = agent.said("an image cache is synced").length;
    began = performance.now();
    await rm(join(stage.cache, name, "small.tar"));
    await until("it is back", () => agent.said("an image cache is synced").length > pulls);
    toReturn.push((performance.now() - began) / 1000);
    await stage.remove(name);
  }
  row("from a created ImageCache to `synced`, small image", shown(spreadOf(toSynced)));
  row("from a deleted tarball to its return", shown(spreadOf(toReturn)));
}

async function idle(stage: AgentStage, agent: AgentProcess): Promise<void> {
  for (const nodes of options.nodes.split(",").map(Number)) {
    await stage.growTo(nodes);
    const before = await cpuSecondsOf(agent.pid);
    // While others' nodes change: that must not reach this agent.
    await Promise.all([stage.beat(200), delay(settleSeconds * 1000)]);
    const { rss, anonymous } = await memoryOf(agent.pid);
    const cpu = (await cpuSecondsOf(agent.pid)) - before;
    row(
      `idle, ${resources} ImageCaches, ${nodes.toLocaleString("en")} nodes`,
      `${rss.toFixed(0)} MiB, of which anonymous ${anonymous.toFixed(0)}; ${(cpu * 1000).toFixed(0)} ms of CPU in ${settleSeconds} s`,
    );
  }
}

async function rest(agent: AgentProcess): Promise<void> {
  const seconds = Number(options.rest);
  const before = await cpuSecondsOf(agent.pid);
  await delay(seconds * 1000);
  const share = (((await cpuSecondsOf(agent.pid)) - before) / seconds) * 100;
  row(`CPU at rest, over ${seconds} s`, `${share.toFixed(2)} % of a core`);
}

async function peaks(stage: AgentStage, trial: Trial): Promise<void> {
  for (const image of ["real", "gzip", "zstd"] as const) {
    const source = await stage.push(image);
    await using agent = stage.agent(["--gc-delay=0"], trial);
    await agent.says("the agent runs");
    await stage.declare(image, source);
    await stage.synced(image);
    const { peak } = await memoryOf(agent.pid);
    await delay(afterPullSeconds * 1000);
    const { rss, anonymous } = await memoryOf(agent.pid);
    row(
      `pulling three 200 MiB layers, ${image}`,
      `${peak.toFixed(0)} MiB at the most; ${afterPullSeconds} s later ${rss.toFixed(0)}, of which anonymous ${anonymous.toFixed(0)}`,
    );
    await stage.remove(image);
    await agent.stop();
  }
}

await main();
