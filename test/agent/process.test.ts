/** How the agent begins and ends. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { AgentProcess } from "../../testbed/agent-process.ts";
import { buildImage } from "../../testbed/image-builder.ts";
import {
  startMisbehavingRegistry,
  type MisbehavingRegistry,
} from "../../testbed/misbehaving-registry.ts";
import { startTcpLink } from "../../testbed/tcp-link.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { Suite, type World } from "./world.ts";

const suite = await Suite.start();

/** The limit for an end, in milliseconds. */
const endsWithinMs = 3000;

/** Ends an agent, and says how: it has to be within the limit. */
async function ended(agent: AgentProcess): Promise<number | string | null> {
  const begun = performance.now();
  const how = await agent.stop();
  const took = performance.now() - begun;
  assert.ok(took < endsWithinMs, `${took} ms`);
  return how;
}

/** A registry that sends every blob for many seconds, a few bytes at a time. */
async function slowRegistry(t: TestContext): Promise<MisbehavingRegistry> {
  const registry = await startMisbehavingRegistry();
  t.after(async () => registry.stop());
  const entries = [1, 2, 3].map((n) => ({ path: `${n}.tar`, content: Buffer.alloc(300_000, n) }));
  registry.hold("slow", "1", buildImage({ layers: [{ entries, compression: "none" }] }));
  registry.misbehave(/blobs/, { kind: "slow", bytes: 4096, everyMs: 100 }, Infinity);
  return registry;
}

/** An agent amid a pull that replaces what stands under `app`, and fills `slow`. */
async function pulling(t: TestContext): Promise<{ world: World; agent: AgentProcess }> {
  const world = await suite.world(t);
  const registry = await slowRegistry(t);
  const agent = world.start([`--insecure-registry=${registry.host}`]);
  const source = await suite.push(`app-${world.nodeName}`, "1", { "a.tar": "old" });
  await world.apply("app", { source });
  await world.says("app", "synced");
  await world.apply("app", { source: `${registry.host}/slow:1` });
  await world.apply("slow", { source: `${registry.host}/slow:1` });
  await until("both are written to", async () => {
    return (await agent.metric("larder_pulled_bytes_total")) > 20_000;
  });
  assert.equal((await world.entries()).filter((name) => name.startsWith(".")).length, 2);
  return { world, agent };
}

test("SIGTERM during pulls ends it in time with 0, and leaves nothing but what was there", async (t) => {
  const { world, agent } = await pulling(t);
  assert.equal(await ended(agent), 0);
  assert.deepEqual(await world.entries(), ["app"]);
  assert.equal(await world.read("app", "a.tar"), "old");
  assert.equal(agent.stderr, "");
  assert.equal(agent.said("the agent ends").length, 1);
});

test("a second SIGTERM ends it at once, and the next agent clears up what that left", async (t) => {
  const { world, agent } = await pulling(t);
  agent.child.kill("SIGTERM");
  const how = await ended(agent);
  assert.ok(how === 0 || how === 143, `it ended with ${how}`);
  assert.equal(await world.read("app", "a.tar"), "old");
  const again = await suite.push(`app-${world.nodeName}`, "2", { "a.tar": "new" });
  world.start();
  await world.apply("app", { source: again });
  await world.remove("slow");
  await world.holds("app", "a.tar", "new");
  await until("nothing is left over", async () => (await world.entries()).length === 1);
});

test("SIGTERM ends it in time with 0 while the API server hangs and a label waits to be written", async (t) => {
  const world = await suite.world(t);
  const link = await startTcpLink(world.plane.port);
  t.after(async () => link.close());
  const kubeconfig = await world.plane.writeKubeconfig(world.plane.adminToken, link.url);
  const agent = world.start([], { kubeconfig });
  const source = await suite.push(`app-${world.nodeName}`, "1", { "a.tar": "a" });
  await world.apply("app", { source });
  await world.says("app", "synced");
  await link.hang();
  await world.delete("app", "a.tar");
  await world.holds("app", "a.tar", "a");
  assert.equal(await ended(agent), 0);
  assert.deepEqual(await world.entries(), ["app"]);
});

test("SIGTERM ends it in time with 0 before it has heard anything of the API server", async (t) => {
  const world = await suite.world(t);
  const link = await startTcpLink(world.plane.port);
  t.after(async () => link.close());
  const kubeconfig = await world.plane.writeKubeconfig(world.plane.adminToken, link.url);
  for (const fault of [async () => link.hang(), async () => link.cut()]) {
    await fault();
    const agent = world.start([], { kubeconfig });
    await agent.says("the agent runs");
    assert.equal((await agent.get("/readyz")).status, 503);
    assert.equal(await ended(agent), 0);
  }
});

test("without NODE_NAME it ends with 2 and says where to take it from", async () => {
  for (const NODE_NAME of [undefined, "", "Not A Name"]) {
    await using agent = AgentProcess.start({ nodeName: "", args: [], env: { NODE_NAME } });
    assert.equal(await agent.end(), 2);
    assert.match(agent.stderr, /^larder: NODE_NAME is .+: .+: .*spec\.nodeName.*\n$/);
    assert.deepEqual(agent.lines, []);
  }
});

test("a kubeconfig that is not there, or is none, ends it with an error that names the file", async (t) => {
  const dir = await tempDirectory(t);
  const broken = join(dir, "broken.kubeconfig");
  await writeFile(broken, "clusters: [");
  for (const kubeconfig of [join(dir, "no.kubeconfig"), broken]) {
    await using agent = AgentProcess.start({ nodeName: "n", kubeconfig, args: [] });
    assert.equal(await agent.end(), 2);
    assert.match(agent.stderr, /^larder: [^\n]+\n$/);
    assert.ok(agent.stderr.includes(kubeconfig), agent.stderr);
  }
});

test("outside a pod and without a kubeconfig it says what to name", async (t) => {
  const HOME = await tempDirectory(t);
  await using agent = AgentProcess.start({ nodeName: "n", args: [], env: { HOME } });
  assert.equal(await agent.end(), 2);
  assert.match(agent.stderr, /^larder: .+: .+: .*kubeconfig.*\n$/i);
});

test("a node that the cluster does not have is waited for and spoken of in the log, and served once it is there", async (t) => {
  const world = await suite.world(t);
  const nodeName = `late-${world.nodeName}`;
  const source = await suite.push(nodeName, "1", { "l.tar": "late" });
  await world.apply("late", { source });
  const agent = world.start([], { nodeName });
  await agent.says("the cluster has no node of this name");
  assert.equal((await agent.get("/readyz")).status, 200);
  assert.deepEqual(await world.entries(), []);
  const metadata = { name: nodeName };
  await world.plane.ask("/api/v1/nodes", {
    method: "POST",
    body: { apiVersion: "v1", kind: "Node", metadata },
  });
  await world.holds("late", "l.tar", "late");
  await agent.says("the cluster has this node");
  assert.equal(agent.said("the cluster has no node of this name").length, 1);
});
