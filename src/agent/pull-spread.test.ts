import assert from "node:assert/strict";
import { test } from "node:test";

import { cacheSpec } from "../../testbed/cache-spec.ts";
import { HandClock } from "../../testbed/hand-clock.ts";
import { placeOf, type CacheSpec } from "./cache-spec.ts";
import { PullSpread } from "./pull-spread.ts";
import { spreadDelay } from "./spread.ts";

const windowMs = 600_000;
const a = cacheSpec({ name: "a" });

function spreading(node = "n") {
  const clock = new HandClock();
  const spread = new PullSpread(node, windowMs, clock);
  const notBefore = (cache: CacheSpec) =>
    spread.notBefore({ cache, force: false, because: "absent" });
  return { clock, spread, notBefore };
}

function share(cache: CacheSpec, node = "n"): number {
  return spreadDelay(node, cache.name, cache.source, windowMs);
}

test("what is new waits for this node's part of the window, counted from when it was first seen", async () => {
  const { clock, notBefore } = spreading();
  await clock.pass(1000);
  assert.equal(notBefore(a), 1000 + share(a));
  await clock.pass(5000);
  assert.equal(notBefore(a), 1000 + share(a));
  assert.ok(share(a) > 0 && share(a) !== share(a, "m"));
});

test("what was complete before is repaired at once", async () => {
  const { clock, spread, notBefore } = spreading();
  spread.completed(a);
  await clock.pass(5000);
  assert.ok(notBefore(a) <= clock.monotonic());
});

test("a source that was edited is new again, and so is one that was edited back", async () => {
  const { clock, spread, notBefore } = spreading();
  const next = { ...a, source: "registry.example.com/a:2" };
  spread.completed(a);
  await clock.pass(1000);
  assert.equal(notBefore(next), 1000 + share(next));
  await clock.pass(1000);
  assert.equal(notBefore(a), 2000 + share(a));
});

test("the same name in another cache path is another matter", async () => {
  const { clock, spread, notBefore } = spreading();
  spread.completed(a);
  await clock.pass(1000);
  assert.equal(notBefore({ ...a, cachePath: "/data" }), 1000 + share(a));
});

test("what nothing desires any more is forgotten", async () => {
  const { clock, spread, notBefore } = spreading();
  const b = cacheSpec({ name: "b" });
  for (const cache of [a, b]) spread.completed(cache);
  spread.keepOnly(new Set([placeOf(b)]));
  await clock.pass(1000);
  assert.equal(notBefore(a), 1000 + share(a));
  assert.ok(notBefore(b) <= 1000);
});

test("without a window nothing waits", () => {
  const spread = new PullSpread("n", 0, new HandClock());
  assert.equal(spread.notBefore({ cache: a, force: false, because: "absent" }), 0);
});
