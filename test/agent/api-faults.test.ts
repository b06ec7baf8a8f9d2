/** An API server that is there, and answers what it should not. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import type { AgentProcess } from "../../testbed/agent-process.ts";
import { startApiGate, type ApiGate, type GateFault } from "../../testbed/api-gate.ts";
import { until } from "../../testbed/until.ts";
import { Suite, type World } from "./world.ts";

const suite = await Suite.start();

interface Stage {
  readonly world: World;
  readonly gate: ApiGate;
  readonly agent: AgentProcess;
}

/** An agent that reaches the API server through a gate, and has one cache whole. */
async function stage(t: TestContext, args: readonly string[] = []): Promise<Stage> {
  const world = await suite.world(t);
  const gate = await startApiGate(world.plane);
  t.after(async () => gate.stop());
  const kubeconfig = await world.plane.writeKubeconfig(world.plane.adminToken, gate.url);
  const agent = world.start(args, { kubeconfig });
  const kept = await suite.push(`kept-${world.nodeName}`, "1", { "k.tar": "kept" });
  await world.apply("kept", { source: kept });
  await world.says("kept", "synced");
  return { world, gate, agent };
}

const refusals: readonly (GateFault & { readonly kind: "answer" })[] = [
  { kind: "answer", status: 429, reason: "TooManyRequests", headers: { "Retry-After": "2" } },
  { kind: "answer", status: 500, reason: "InternalError" },
  { kind: "answer", status: 410, reason: "Expired" },
  { kind: "answer", status: 401, reason: "Unauthorized" },
];

for (const refusal of refusals) {
  const { status, headers } = refusal;
  test(`an API server that answers ${status} is asked again with patience, and the disk is repaired meanwhile`, async (t) => {
    const { world, gate, agent } = await stage(t);
    gate.fault = () => refusal;
    const begun = gate.seen.length;
    gate.cutAll();
    await until("the agent has been refused a few times", () => gate.seen.length >= begun + 6);
    await world.delete("kept", "k.tar");
    await world.holds("kept", "k.tar", "kept");
    assert.equal(await agent.metric('larder_watch_open{kind="ImageCache"}'), 0);
    const fresh = await suite.push(`fresh-${world.nodeName}`, "1", { "f.tar": "fresh" });
    await world.apply("fresh", { source: fresh });
    const refused = gate.seen.slice(begun);
    // Two watches begin anew with their lists, and the labels of one repair; nothing runs hot.
    const seconds = (performance.now() - (refused[0]?.at ?? 0)) / 1000;
    assert.ok(refused.length <= 10 + 4 * seconds, `${refused.length} in ${seconds} s`);
    if (headers !== undefined) assertSpaced(refused.filter(({ watch }) => watch));
    gate.fault = () => undefined;
    await world.says("fresh", "synced");
    await world.says("kept", "synced");
    assert.equal(agent.child.exitCode, null);
  });
}

/** Each watch waits as long as it was told to. */
function assertSpaced(watches: ApiGate["seen"]): void {
  const byPath = Map.groupBy(watches, ({ path }) => new URL(path, "http://here").pathname);
  for (const [path, asked] of byPath) {
    const gaps = asked.slice(1).map(({ at }, index) => at - (asked[index]?.at ?? 0));
    assert.ok(
      gaps.every((gap) => gap >= 1900),
      `${path}: ${gaps.map(Math.round).join(", ")} ms`,
    );
  }
}

test("a watch that is too old is a list, and nothing that happened meanwhile is lost", async (t) => {
  const { world, gate, agent } = await stage(t, ["--gc-delay=0"]);
  const fresh = await suite.push(`fresh-${world.nodeName}`, "1", { "f.tar": "fresh" });
  const begun = gate.seen.length;
  let refused = 0;
  gate.fault = ({ watch }) => {
    if (!watch || refused === 4) return undefined;
    refused += 1;
    return { kind: "error event", status: 410, reason: "Expired" };
  };
  gate.cutAll();
  await world.remove("kept");
  await world.apply("fresh", { source: fresh });
  await world.says("fresh", "synced");
  await world.says("kept", undefined);
  assert.equal(refused, 4);
  // What a list lacks was not seen to go.
  assert.equal(await world.read("kept", "k.tar"), "kept");
  assert.ok(gate.seen.length - begun < 30, `${gate.seen.length - begun} requests`);
  assert.equal(agent.child.exitCode, null);
});

test("a label that the API server refuses to write is written once it takes it, and the refusals are few", async (t) => {
  const { world, gate, agent } = await stage(t);
  const isPatch = ({ method }: { readonly method: string }): boolean => method === "PATCH";
  gate.fault = (asked) =>
    isPatch(asked) && asked.path.includes("/nodes/")
      ? { kind: "answer", status: 503, reason: "ServiceUnavailable" }
      : undefined;
  const fresh = await suite.push(`fresh-${world.nodeName}`, "1", { "f.tar": "fresh" });
  await world.apply("fresh", { source: fresh });
  await world.holds("fresh", "f.tar", "fresh");
  await agent.says("cannot write the node's labels");
  const patches = (): number => gate.seen.filter(isPatch).length;
  const before = patches();
  for (let repairs = 1; repairs <= 4; repairs++) {
    await world.delete("kept", "k.tar");
    await world.holds("kept", "k.tar", "kept");
    assert.ok(patches() <= before + 2, `${patches() - before} after ${repairs} repairs`);
  }
  await until("it is tried again", () => patches() >= before + 2);
  gate.fault = () => undefined;
  await world.says("fresh", "synced");
  assert.equal(agent.said("cannot write the node's labels").length, 1);
});
