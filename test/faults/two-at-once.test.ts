/** Several real processes on one cache path at a time. */
import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { machinePlatform } from "../../src/registry/platform.ts";
import { buildImage } from "../../testbed/image-builder.ts";
import type { Fault } from "../../testbed/fault.ts";
import { startMisbehavingRegistry } from "../../testbed/misbehaving-registry.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { larder, start, type Finished } from "../cli/larder-process.ts";

const content = Buffer.alloc(600_000, "whole");
const image = buildImage({
  platform: machinePlatform(),
  layers: [{ entries: [{ path: "a.tar", content }], compression: "none" }],
});
const layer = new RegExp(`/blobs/${image.layers[0]?.digest}`);
const slow: Fault = { kind: "slow", bytes: 40_000, everyMs: 40 };

async function setUp(t: TestContext) {
  const registry = await startMisbehavingRegistry();
  t.after(() => registry.stop());
  registry.hold("app", "1", image);
  const path = await tempDirectory(t);
  const words = (name: string): string[] => [
    "import",
    "--output",
    "json",
    "--name",
    name,
    "--cache-path",
    path,
    "--insecure-registry",
    registry.host,
    `${registry.host}/app:1`,
  ];
  const begin = (name: string) => {
    const run = start(words(name));
    t.after(() => run.child.kill("SIGKILL"));
    let said = "";
    run.child.stderr?.on("data", (text: string) => (said += text));
    return { ...run, waits: () => said.includes("another run is filling") };
  };
  const asked = () => registry.seen.filter(({ path: it }) => layer.test(it)).length;
  const verified = async () => {
    const { exitCode, stdout } = await larder(["verify", "--deep", "--cache-path", path]);
    assert.equal(exitCode, 0, stdout);
  };
  return { registry, path, begin, asked, verified };
}

function resultOf(run: Finished): string {
  assert.equal(run.exitCode, 0, run.stderr);
  return String(JSON.parse(run.stdout).result);
}

test("of two imports of one name at once the second waits, says so, and finds the work done", async (t) => {
  const { registry, path, begin, asked, verified } = await setUp(t);
  registry.misbehave(layer, slow);
  const first = begin("app");
  await until("the first reads its layer", () => asked() === 1);
  const second = begin("app");
  await until("the second waits", second.waits);
  assert.equal(resultOf(await first.finished), "pulled");
  assert.equal(resultOf(await second.finished), "complete");
  assert.equal(asked(), 1);
  assert.deepEqual(await readdir(path), ["app"]);
  await verified();
});

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  test(`an import whose turn comes because the one before it got ${signal} does all the work`, async (t) => {
    const { registry, path, begin, asked, verified } = await setUp(t);
    registry.misbehave(layer, { kind: "stall", after: 300_000 });
    const first = begin("app");
    await until("the first reads its layer", () => asked() === 1);
    const second = begin("app");
    await until("the second waits", second.waits);
    first.child.kill(signal);
    await first.finished;
    assert.equal(resultOf(await second.finished), "pulled");
    assert.deepEqual(await readdir(path), ["app"]);
    await verified();
  });

  test(`an import that gets ${signal} while it waits leaves the one before it alone`, async (t) => {
    const { registry, path, begin, asked, verified } = await setUp(t);
    registry.misbehave(layer, { kind: "slow", bytes: 20_000, everyMs: 60 });
    const first = begin("app");
    await until("the first reads its layer", () => asked() === 1);
    const second = begin("app");
    await until("the second waits", second.waits);
    second.child.kill(signal);
    const { exitCode, stderr } = await second.finished;
    assert.equal(exitCode, signal === "SIGTERM" ? 143 : null, stderr);
    assert.equal(resultOf(await first.finished), "pulled");
    // What a killed one leaves, its hidden directory, is the next one's to sweep.
    if (signal === "SIGKILL") assert.equal(resultOf(await begin("app").finished), "complete");
    assert.deepEqual(await readdir(path), ["app"]);
    await verified();
  });
}

test("imports of two names at once in one cache path do not wait for each other", async (t) => {
  const { registry, path, begin, asked, verified } = await setUp(t);
  registry.misbehave(layer, slow, 2);
  const runs = [begin("app"), begin("app.tmp-b")];
  await until("both read their layers", () => asked() === 2);
  for (const run of runs) assert.equal(resultOf(await run.finished), "pulled");
  assert.ok(runs.every((run) => !run.waits()));
  assert.deepEqual((await readdir(path)).sort(), ["app", "app.tmp-b"]);
  await verified();
});

test("of six imports of one name at once one pulls and the others find it complete", async (t) => {
  const { registry, path, begin, asked } = await setUp(t);
  registry.misbehave(layer, slow);
  const runs = Array.from({ length: 6 }, () => begin("app"));
  const results = await Promise.all(runs.map(async (run) => resultOf(await run.finished)));
  assert.deepEqual(results.filter((it) => it === "pulled").length, 1, results.join(" "));
  assert.equal(asked(), 1);
  assert.deepEqual(await readdir(path), ["app"]);
  assert.deepEqual(await readFile(join(path, "app/a.tar")), content);
});
