/** `make bench-scale`: what ten thousand agents ask of an API server; docs/scale.md says how. */
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";

import { startDockerRegistry } from "../testbed/docker-registry.ts";
import { guardedDirectory } from "../testbed/guarded-directory.ts";
import { buildImage, pushImage } from "../testbed/image-builder.ts";
import { interruption } from "../testbed/interruption.ts";
import { ScaleAgents } from "./scale-agents.ts";
import { ScaleCluster } from "./scale-cluster.ts";
import { ScaleFleet } from "./scale-fleet.ts";
import { phase } from "./scale-phase.ts";
import { print, say, type Stage } from "./scale-stage.ts";
import { allLive, appears, returns, vanishes } from "./scale-waits.ts";

const interrupted = interruption();
const phases = ["new", "removed", "spread", "steady", "restart", "outage"] as const;
/** Milliseconds that a pull of the small image takes a real agent, about. */
const pullMs = 100;
const spreadSeconds = 60;
/** Long enough for all to have come to their longest pause. */
const outageSeconds = 60;
/** Two watches, and one connection for all other requests while there are any. */
const connectionsEach = 3;
/** Files that an API server has open besides. */
const reserved = 1000;

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
    /** Requests that the simulated ones begin in a second, all together, at the most. */
    pace: { type: "string", default: "300" },
    /** Manifests that the cluster gets besides the agent's: a FlowSchema to try. */
    apply: { type: "string", multiple: true, default: [] },
    only: { type: "string", multiple: true, default: [...phases] },
  },
});

async function main(): Promise<void> {
  const [nodes, real] = [Number(options.nodes), Number(options.agents)];
  const simulated = nodes - real;
  const apiServers = Number(options["api-servers"]) || (await enough(nodes));
  const home = await guardedDirectory("larder-bench-scale-");
  const registry = await startDockerRegistry();
  try {
    const small = { entries: [{ path: "small.tar", content: "small" }] };
    await pushImage(registry.url, "small", "1", buildImage({ layers: [small] }));
    await using cluster = await ScaleCluster.start(apiServers, options.apply);
    using fleet = new ScaleFleet(Math.max(1, Math.ceil(simulated / 3500)));
    const place = { home: home.path, ca: cluster.plane.ca, registry: registry.host };
    await using agents = new ScaleAgents(place);
    const source = `${registry.host}/small:1`;
    const stage: Stage = { cluster, fleet, agents, simulated, real, source, signal: interrupted };
    print(`${nodes} nodes, ${real} of them real agents; ${apiServers} API server(s)`);
    await run(stage);
  } finally {
    await registry.stop();
    await home.remove();
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
    fleet.begin(seats.slice(real), cluster.plane.ca, pullMs, Number(options.pace));
    await allLive(stage);
  });
  const wanted = (name: (typeof phases)[number]): boolean => options.only.includes(name);
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
  // So late that the first watches come to their end meanwhile.
  if (wanted("steady")) {
    await phase(stage, "steady state", async () =>
      delay(Number(options.steady) * 1000, undefined, { signal: interrupted }),
    );
  }
  if (wanted("restart")) {
    await phase(stage, "every API server killed and started", async () => returns(stage, 0));
  }
  if (wanted("outage")) {
    await phase(stage, `every API server away for ${outageSeconds} s`, async () =>
      returns(stage, outageSeconds),
    );
  }
}

/** How many API servers it takes for all connections. */
async function enough(nodes: number): Promise<number> {
  const limits = await readFile("/proc/self/limits", "utf8");
  const files = Number(/^Max open files\s+\d+\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
  return Math.ceil(nodes / ((files - reserved) / connectionsEach));
}

await main();
