/** What a node has and says, as resources, labels and sources change. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { until } from "../../testbed/until.ts";
import { prefix, Suite } from "./world.ts";

const suite = await Suite.start();

test("a declared cache is pulled, and the node says pending before the first byte and synced after", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("boot", "1", { "boot.tar": "content 1" });
  const mark = await world.plane.audit.mark();
  const agent = world.start();
  await agent.says("listening");
  await world.apply("boot-1", { source });
  await world.says("boot-1", "synced");
  assert.equal(await world.read("boot-1", "boot.tar"), "content 1");
  const patches = await world.plane.audit.since(mark, { userAgent: /^larder/, resource: "nodes" });
  assert.equal(patches.filter(({ verb }) => verb === "patch").length, 2);
  const note = await world.event("boot-1", "Synced");
  assert.match(note, /sha256:[0-9a-f]{64}/);
});

test("two versions stand side by side, and a resource that is removed goes with its directory", async (t) => {
  const world = await suite.world(t);
  const [one, two] = await Promise.all(
    ["1", "2"].map(async (tag) => suite.push("worker", tag, { "w.tar": `content ${tag}` })),
  );
  world.start(["--gc-delay=0"]);
  await world.apply("worker-1", { source: one ?? "" });
  await world.apply("worker-2", { source: two ?? "" });
  await world.says("worker-1", "synced");
  await world.says("worker-2", "synced");
  assert.deepEqual(await world.entries(), ["worker-1", "worker-2"]);
  await world.remove("worker-1");
  await world.says("worker-1", undefined);
  await until("its directory is gone", async () => (await world.entries()).length === 1);
  assert.equal(await world.read("worker-2", "w.tar"), "content 2");
});

test("another source makes a cache pending, and what was there stays until the new one is in place", async (t) => {
  const world = await suite.world(t);
  const one = await suite.push("app", "1", { "a.tar": "content 1" });
  const two = await suite.push("app", "2", { "a.tar": "content 2" });
  world.start();
  await world.apply("app", { source: one });
  await world.says("app", "synced");
  await world.apply("app", { source: `${suite.registry.host}/app:missing` });
  await world.says("app", "pending");
  await world.event("app", "SyncFailed");
  assert.equal(await world.read("app", "a.tar"), "content 1");
  await world.apply("app", { source: two });
  await world.says("app", "synced");
  assert.equal(await world.read("app", "a.tar"), "content 2");
});

test("a node's label and an edited selector act at once, not at the next resync", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("zone", "1", { "z.tar": "z" });
  world.start(["--gc-delay=0", "--resync-period=0"]);
  await world.apply("zone", { source, nodeSelector: { zone: "east" } });
  await world.apply("all", { source });
  await world.says("all", "synced");
  assert.deepEqual(await world.entries(), ["all"]);
  await world.label({ zone: "east" });
  await world.says("zone", "synced");
  await world.label({ zone: "west" });
  await world.says("zone", undefined);
  await until("its directory is gone", async () => (await world.entries()).length === 1);
  await world.apply("zone", { source, nodeSelector: { zone: "west" } });
  await world.says("zone", "synced");
});

test("a node that is deleted and made again gets its labels back at once, and loses no cache", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("node", "1", { "n.tar": "n" });
  const agent = world.start(["--gc-delay=0"]);
  await world.apply("node", { source });
  await world.says("node", "synced");
  await world.plane.kubectl("delete", "node", world.nodeName);
  await world.createNode({ other: "label" });
  await world.says("node", "synced");
  assert.deepEqual(await world.labels(), { other: "label", [`${prefix}node`]: "synced" });
  assert.equal(await world.read("node", "n.tar"), "n");
  assert.equal(agent.said("a pull starts").length, 1);
});

test("labels that nothing desires are removed, labels of others are left alone", async (t) => {
  const world = await suite.world(t);
  await world.label({ [`${prefix}left-over`]: "synced", "example.com/mine": "x" });
  world.start();
  await world.says("left-over", undefined);
  assert.equal((await world.labels())["example.com/mine"], "x");
});
