/** What a node has while nobody says what it shall have, and after a cluster was built anew. */
import assert from "node:assert/strict";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { test, type TestContext } from "node:test";

import type { AgentProcess } from "../../testbed/agent-process.ts";
import { startTcpLink } from "../../testbed/tcp-link.ts";
import { until } from "../../testbed/until.ts";
import { prefix, Suite, type World } from "./world.ts";

const suite = await Suite.start();

/** Collects at once whatever may be collected. */
const hasty = ["--gc-delay=0", "--gc-delay-missing=0"];
const memory = ".larder-agent.json";

/** Declares caches and waits until they are whole; returns their sources. */
async function have(world: World, ...names: readonly string[]): Promise<Map<string, string>> {
  const sources = new Map<string, string>();
  for (const name of names) {
    const source = await suite.push(`${name}-${world.nodeName}`, "1", { "x.tar": name });
    sources.set(name, source);
    await world.apply(name, { source });
  }
  for (const name of names) await world.says(name, "synced");
  return sources;
}

/** A way to the API server that can be cut. */
async function linked(t: TestContext, { plane }: World) {
  const link = await startTcpLink(plane.port);
  t.after(async () => link.close());
  return { link, kubeconfig: await plane.writeKubeconfig(plane.adminToken, link.url) };
}

async function passes(agent: AgentProcess): Promise<number> {
  return agent.metric('larder_passes_total{result="succeeded"}');
}

async function orphans(agent: AgentProcess, cause: "deleted" | "missing", count: number) {
  await until(`${count} directories wait that are ${cause}`, async () => {
    return (await agent.metric(`larder_orphans{cause="${cause}"}`)) === count;
  });
}

/** Makes the agent look at everything, and waits until it did so a few times. */
async function looksAgain(world: World, agent: AgentProcess): Promise<void> {
  for (const turn of ["1", "2", "3"]) {
    const before = await passes(agent);
    await world.label({ turn });
    await until("another pass", async () => (await passes(agent)) > before);
  }
}

/** The same, without the API server. */
async function looksAtTheDisk(world: World, agent: AgentProcess): Promise<void> {
  for (const name of ["flat-1", "flat-2"]) {
    const before = await passes(agent);
    await mkdir(world.path(name));
    await until("another pass", async () => (await passes(agent)) > before);
    await world.delete(name);
  }
}

test("an agent that starts while the API server is away repairs from what it remembers, collects nothing, and labels follow", async (t) => {
  const world = await suite.world(t);
  const first = world.start();
  await have(world, "a", "b");
  assert.equal(await first.stop(), 0);
  await world.label({ [`${prefix}a`]: null });
  const { link, kubeconfig } = await linked(t, world);
  await link.cut();
  await cp(world.path("b"), world.path("stray"), { recursive: true });
  await world.delete("a", "x.tar");
  await world.delete("b");
  const second = world.start(hasty, { kubeconfig });
  await world.holds("a", "x.tar", "a");
  await world.holds("b", "x.tar", "b");
  // By file-system events, too.
  await world.delete("a", "x.tar");
  await world.holds("a", "x.tar", "a");
  await until("nothing but its own hidden directory goes", async () => {
    return (await world.entries()).join() === "a,b,stray";
  });
  await looksAtTheDisk(world, second);
  assert.deepEqual(await world.entries(), ["a", "b", "stray"]);
  assert.equal((await second.get("/readyz")).status, 503);
  assert.equal((await second.get("/healthz")).status, 200);
  await link.restore();
  await world.says("a", "synced");
  await world.says("b", "synced");
  await until("what nobody declares is collected", async () => {
    return (await world.entries()).join() === "a,b";
  });
  assert.equal((await second.get("/readyz")).status, 200);
});

test("a memory that is damaged, empty, of a newer agent, or no file is as if there were none", async (t) => {
  const world = await suite.world(t);
  const first = world.start();
  await have(world, "kept");
  await first.stop();
  const file = world.path(memory);
  const text = await readFile(file, "utf8");
  const { link, kubeconfig } = await linked(t, world);
  const damages: (() => Promise<unknown>)[] = [
    async () => writeFile(file, text.slice(0, text.length / 2)),
    async () => writeFile(file, ""),
    async () => writeFile(file, text.replace('"version": 1', '"version": 2')),
    async () => mkdir(file),
  ];
  for (const damage of damages) {
    await rm(file, { recursive: true });
    await damage();
    await link.cut();
    await world.delete("kept", "x.tar");
    const agent = world.start(hasty, { kubeconfig });
    await until("a pass without anybody to ask", async () => {
      const failed = await agent.metric('larder_passes_total{result="failed"}');
      return (await passes(agent)) + failed > 0;
    });
    assert.deepEqual(await world.entries(), ["kept"]);
    await link.restore();
    await world.holds("kept", "x.tar", "kept");
    await world.says("kept", "synced");
    assert.equal(await agent.stop(), 0);
    assert.deepEqual(await world.entries(), ["kept"]);
  }
});

test("a cluster rebuilt empty costs no cache, whether the agent runs meanwhile or not: labels go, and what is declared again is adopted without a pull", async (t) => {
  const world = await suite.world(t);
  const first = world.start(["--gc-delay=0"]);
  const sources = await have(world, "again", "never");
  await suite.plane.wipe();
  await world.delete("again", "x.tar");
  await world.holds("again", "x.tar", "again");
  await suite.installCrd();
  await world.createNode({ [`${prefix}again`]: "synced", [`${prefix}never`]: "synced" });
  await world.says("again", undefined);
  await world.says("never", undefined);
  await orphans(first, "missing", 2);
  await looksAgain(world, first);
  assert.deepEqual(await world.entries(), ["again", "never"]);
  const source = sources.get("again") ?? "";
  await world.apply("again", { source });
  await world.says("again", "synced");
  assert.equal(first.said("a pull starts").length, 3);
  assert.equal(await first.stop(), 0);

  await suite.plane.wipe();
  await suite.installCrd();
  await world.createNode({});
  const second = world.start(["--gc-delay=0"]);
  await orphans(second, "missing", 2);
  await looksAgain(world, second);
  await world.apply("again", { source });
  await world.says("again", "synced");
  await orphans(second, "missing", 1);
  assert.deepEqual(await world.entries(), ["again", "never"]);
  assert.equal(second.said("a pull starts").length, 0);
  assert.equal(await second.stop(), 0);

  world.start(["--gc-delay-missing=1s"]);
  await until("its day is over", async () => (await world.entries()).length === 1);
  assert.deepEqual(await world.entries(), ["again"]);
});

test("a resource that is deleted by hand keeps its directory for --gc-delay, also across a crash", async (t) => {
  const world = await suite.world(t);
  const delay = "--gc-delay=3s";
  const first = world.start([delay]);
  const sources = await have(world, "gone", "back");
  const begun = performance.now();
  await world.remove("gone");
  await world.remove("back");
  await world.says("gone", undefined);
  await world.says("back", undefined);
  await orphans(first, "deleted", 2);
  assert.deepEqual(await world.entries(), ["back", "gone"]);
  await first.stop("SIGKILL");
  const second = world.start([delay]);
  await world.apply("back", { source: sources.get("back") ?? "" });
  await world.says("back", "synced");
  await until("it is collected", async () => (await world.entries()).length === 1);
  assert.ok(performance.now() - begun >= 3000);
  await looksAgain(world, second);
  assert.deepEqual(await world.entries(), ["back"]);
  assert.equal(second.said("a pull starts").length, 0);
});
