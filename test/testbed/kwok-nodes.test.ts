/** Nodes that nobody runs, and what a whole control plane does with them. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startControlPlane, type ControlPlane } from "../../testbed/control-plane.ts";
import { startKwok, type KwokNodes } from "../../testbed/kwok-nodes.ts";
import { until } from "../../testbed/until.ts";
import { isRunning } from "./running.ts";

let plane: ControlPlane;
let nodes: KwokNodes;

before(async () => {
  plane = await startControlPlane({ controllerManager: true, scheduler: true });
  nodes = await startKwok(plane);
});
after(async () => {
  await nodes.stop();
  await plane.stop();
});

test("a hundred nodes are Ready, with the labels of a kubelet and those that were asked for", async () => {
  const labels = { pool: "edge" };
  const names = await nodes.add({ count: 100, prefix: "edge", labels });
  assert.equal(new Set(names).size, 100);
  assert.deepEqual(await nodes.readyNames(), new Set(names));
  const answer = await plane.ask("/api/v1/nodes/edge-7");
  const { metadata } = answer as { metadata: { labels: Record<string, string> } };
  assert.equal(metadata.labels["pool"], "edge");
  assert.equal(metadata.labels["kubernetes.io/os"], "linux");
  assert.equal(metadata.labels["kubernetes.io/hostname"], "edge-7");
});

test("a pod of a Deployment is made, scheduled to such a node, and runs", async () => {
  await nodes.add({ count: 1, prefix: "single" });
  await plane.kubectl("create", "deployment", "idle", "--image=idle.invalid/idle");
  await until("the pod runs", async () => {
    const wanted = ["--selector=app=idle", "--field-selector=status.phase=Running"];
    return /^idle-/m.test(await plane.kubectl("get", "pods", ...wanted));
  });
});

test("a wiped control plane has its controllers again, and kwok plays new nodes", async () => {
  await plane.wipe();
  assert.deepEqual(await nodes.readyNames(), new Set());
  assert.deepEqual(Object.keys(plane.pids).length, 4);
  const names = await nodes.add({ count: 3, prefix: "after" });
  assert.deepEqual(await nodes.readyNames(), new Set(names));
});

test("stopped, kwok is gone", async () => {
  const { pid } = nodes;
  assert.ok(isRunning(pid));
  await nodes.stop();
  assert.ok(!isRunning(pid));
});
