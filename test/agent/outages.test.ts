/** The API server goes away under a running agent, in every way, and comes back. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import type { AgentProcess } from "../../testbed/agent-process.ts";
import { startTcpLink, type TcpLink } from "../../testbed/tcp-link.ts";
import { until } from "../../testbed/until.ts";
import { Suite, type World } from "./world.ts";

const suite = await Suite.start();

interface Stage {
  readonly world: World;
  readonly link: TcpLink;
  readonly agent: AgentProcess;
  /** Of an image that is declared, and that its registry has not got yet. */
  readonly push: () => Promise<unknown>;
}

/** An agent that has one cache whole and waits for the image of another, `later`. */
async function stage(t: TestContext, args: readonly string[] = []): Promise<Stage> {
  const world = await suite.world(t);
  const link = await startTcpLink(world.plane.port);
  t.after(async () => link.close());
  const kubeconfig = await world.plane.writeKubeconfig(world.plane.adminToken, link.url);
  const agent = world.start(args, { kubeconfig });
  const { nodeName } = world;
  const kept = await suite.push(`kept-${nodeName}`, "1", { "k.tar": "kept" });
  await world.apply("kept", { source: kept });
  await world.apply("later", { source: `${suite.registry.host}/later-${nodeName}:1` });
  await world.says("kept", "synced");
  await agent.says("a pull failed");
  const push = async () => suite.push(`later-${nodeName}`, "1", { "l.tar": "later" });
  return { world, link, agent, push };
}

/** What the disk needs is done while the API server is away. */
async function repairsMeanwhile({ world, push }: Stage): Promise<void> {
  await world.delete("kept", "k.tar");
  await world.holds("kept", "k.tar", "kept");
  await push();
  await world.holds("later", "l.tar", "later");
}

/** What the cluster says since then is done, and nothing was started anew for it. */
async function catchesUp({ world, agent }: Stage): Promise<void> {
  const fresh = await suite.push(`fresh-${world.nodeName}`, "1", { "f.tar": "fresh" });
  await world.apply("fresh", { source: fresh });
  await world.says("later", "synced");
  await world.says("fresh", "synced");
  await world.says("kept", "synced");
  assert.equal(agent.child.exitCode, null);
  assert.equal(agent.said("the agent runs").length, 1);
  assert.equal(await agent.metric("larder_api_server_reachable"), 1);
}

async function notices({ agent }: Stage): Promise<void> {
  await until("the metrics say that nobody answers", async () => {
    const open = await agent.metric('larder_watch_open{kind="ImageCache"}');
    return open === 0 && (await agent.metric("larder_api_server_reachable")) === 0;
  });
}

for (const how of ["terminate", "kill"] as const) {
  test(`an API server that is away (${how}) holds up no repair, and is caught up with`, async (t) => {
    const scene = await stage(t);
    await suite.plane.stopApiServer(how);
    await notices(scene);
    await repairsMeanwhile(scene);
    await suite.plane.startApiServer();
    await catchesUp(scene);
  });
}

test("an API server that stands still holds up no repair, and is caught up with", async (t) => {
  const scene = await stage(t);
  suite.plane.pauseApiServer();
  t.after(() => {
    suite.plane.resumeApiServer();
  });
  await repairsMeanwhile(scene);
  suite.plane.resumeApiServer();
  await catchesUp(scene);
});

test("a network that is cut holds up no repair; what changed meanwhile is caught up with, and what is gone was not seen to go", async (t) => {
  const scene = await stage(t, ["--gc-delay=0"]);
  const { world, link, agent } = scene;
  await link.cut();
  await notices(scene);
  await repairsMeanwhile(scene);
  const meanwhile = await suite.push(`new-${world.nodeName}`, "1", { "n.tar": "new" });
  await world.apply("new", { source: meanwhile });
  await world.remove("kept");
  await link.restore();
  await world.says("new", "synced");
  await world.says("later", "synced");
  await world.says("kept", undefined);
  await until("it is an orphan", async () => {
    return (await agent.metric('larder_orphans{cause="missing"}')) === 1;
  });
  assert.equal(await world.read("kept", "k.tar"), "kept");
  assert.equal(agent.said("the agent runs").length, 1);
});

test("a network that swallows everything holds up no repair, and labels follow when it works again", async (t) => {
  const scene = await stage(t);
  const { world, link, agent } = scene;
  await link.hang();
  await repairsMeanwhile(scene);
  assert.equal(agent.child.exitCode, null);
  await link.restore();
  await world.says("later", "synced");
  await world.says("kept", "synced");
});

test("a network that takes two seconds for each answer delays no repair by more", async (t) => {
  const scene = await stage(t);
  const { world, link } = scene;
  link.delay(1000);
  await repairsMeanwhile(scene);
  await world.says("later", "synced");
  await world.apply("kept", { source: `${suite.registry.host}/later-${world.nodeName}:1` });
  await world.holds("kept", "l.tar", "later");
  await world.says("kept", "synced");
});
