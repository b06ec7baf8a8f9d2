import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { fill, filesImage } from "../../test/cache/fixture.ts";
import { cacheSpec } from "../../testbed/cache-spec.ts";
import { HandClock } from "../../testbed/hand-clock.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { Store } from "../cache/store.ts";
import { LarderError } from "../errors.ts";
import { AgentMetrics } from "./metrics.ts";
import { puller } from "./puller.ts";

/** Pulls of which everything that is told is written down, from a registry that is not there. */
async function pulling(t: TestContext) {
  const path = await tempDirectory(t);
  const told: string[] = [];
  const minFree = { bytes: 0 };
  const clock = new HandClock();
  const pull = puller({
    open: (where) => Store.open(where),
    registry: async () => {
      throw new LarderError("network", {
        what: "cannot get an image",
        why: "there is no network",
        todo: "plug it in",
      });
    },
    platform: { os: "linux", architecture: "amd64" },
    minFree,
    hurry: new AbortController().signal,
    throttle: (image) => image,
    metrics: new AgentMetrics({ version: "1", node: "n", minFree, clock }),
    log: {
      info: (message) => told.push(message),
      warn: (message) => told.push(message),
    },
    record: ({ reason, note }) => told.push(`${reason}: ${note}`),
    filled: () => told.push("filled"),
  });
  const cache = cacheSpec({ name: "a", cachePath: path });
  const run = async (signal = new AbortController().signal) =>
    pull({ cache, force: false, because: "absent", notBefore: 0 }, signal, () => {});
  return { path, cache, told, run };
}

test("what another run has brought meanwhile is no fill: what is known of the directory stays known", async (t) => {
  const { path, cache, told, run } = await pulling(t);
  await fill(path, filesImage({ "a.tar": "alpha" }), { name: cache.name, source: cache.source });
  await run();
  assert.deepEqual(told, ["a pull starts"]);
});

test("a pull that fails is told in the log and by an event that says what to do", async (t) => {
  const { told, run } = await pulling(t);
  await assert.rejects(run(), { code: "network" });
  assert.deepEqual(told, [
    "a pull starts",
    "a pull failed",
    "SyncFailed: cannot get an image: there is no network: plug it in",
  ]);
});

test("a pull that was cancelled is no failure", async (t) => {
  const { told, run } = await pulling(t);
  await assert.rejects(run(AbortSignal.abort()), { code: "interrupted" });
  assert.deepEqual(told, ["a pull starts"]);
});
