/** What the agent does not do. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { writingVerbs } from "../../testbed/audit-log.ts";
import { buildImage } from "../../testbed/image-builder.ts";
import { startMisbehavingRegistry } from "../../testbed/misbehaving-registry.ts";
import { startTcpLink } from "../../testbed/tcp-link.ts";
import { until } from "../../testbed/until.ts";
import { Suite } from "./world.ts";

const suite = await Suite.start();
const passes = 'larder_passes_total{result="succeeded"}';

test("ten passes in a steady state are no write request at all", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("steady", "1", { "s.tar": "s" });
  const agent = world.start(["--resync-period=100ms"]);
  for (const name of ["steady-1", "steady-2", "steady-3"]) await world.apply(name, { source });
  for (const name of ["steady-1", "steady-2", "steady-3"]) {
    await world.says(name, "synced");
    await world.event(name, "Synced");
  }
  const mark = await suite.plane.audit.mark();
  const before = await agent.metric(passes);
  await until("ten more passes", async () => (await agent.metric(passes)) >= before + 10);
  const writes = await suite.plane.audit.since(mark, {
    userAgent: /^larder/,
    verb: [...writingVerbs],
  });
  assert.deepEqual(writes, []);
});

test("a cache is synced at once when it is there, while another is still pulled", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("quick", "1", { "q.tar": "q" });
  const slow = await startMisbehavingRegistry();
  t.after(async () => slow.stop());
  slow.hold("slow", "1", buildImage({ layers: [{ entries: [{ path: "s.tar", content: "s" }] }] }));
  slow.misbehave(/blobs/, { kind: "stall" }, Infinity);
  const agent = world.start([`--insecure-registry=${slow.host}`, "--max-parallel-pulls=1"]);
  await world.apply("a-slow", { source: `${slow.host}/slow:1` });
  await agent.says("a pull starts");
  await world.apply("quick", { source });
  await world.says("quick", "synced");
  await world.says("a-slow", "pending");
  assert.equal(agent.said("a pull failed").length, 0);
});

test("a resource that is removed while it is pulled leaves nothing behind", async (t) => {
  const world = await suite.world(t);
  const slow = await startMisbehavingRegistry();
  t.after(async () => slow.stop());
  slow.hold("slow", "1", buildImage({ layers: [{ entries: [{ path: "s.tar", content: "s" }] }] }));
  slow.misbehave(/blobs/, { kind: "stall" }, Infinity);
  const agent = world.start([`--insecure-registry=${slow.host}`]);
  await world.apply("gone", { source: `${slow.host}/slow:1` });
  await agent.says("a pull starts");
  await world.remove("gone");
  await world.says("gone", undefined);
  await until("nothing is left", async () => (await world.entries()).length === 0);
  assert.deepEqual(await world.events("gone", "SyncFailed"), []);
});

test("pending is on the node before the first byte is asked for", async (t) => {
  const world = await suite.world(t);
  const link = await startTcpLink(suite.plane.port);
  t.after(async () => link.close());
  const registry = await startMisbehavingRegistry();
  t.after(async () => registry.stop());
  const image = buildImage({ layers: [{ entries: [{ path: "p.tar", content: "p" }] }] });
  registry.hold("late", "1", image);
  const kubeconfig = await suite.plane.writeKubeconfig(undefined, link.url);
  const agent = world.start([`--insecure-registry=${registry.host}`], { kubeconfig });
  await until("it knows its node", async () => (await agent.get("/readyz")).status === 200);
  // The answer to the patch takes a second longer than the patch: nothing is pulled in between.
  link.delay(1000);
  await world.apply("late", { source: `${registry.host}/late:1` });
  await world.says("late", "pending");
  assert.equal(registry.accepted, 0);
  await link.restore();
  await world.says("late", "synced");
});
