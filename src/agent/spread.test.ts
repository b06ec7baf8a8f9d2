import assert from "node:assert/strict";
import { test } from "node:test";

import { spreadDelay } from "./spread.ts";

const minute = 60_000;
const source = "registry.example.com/boot-cache-worker:134.0.0";
const nodes = Array.from({ length: 10_000 }, (_, index) => `worker-${index}.example.com`);
const delays = nodes.map((node) => spreadDelay(node, "worker-134-0-0", source, minute));

test("10,000 nodes spread their pulls evenly over the window", () => {
  const perSecond = Array.from({ length: 60 }, () => 0);
  for (const delay of delays) perSecond[Math.floor(delay / 1000)]! += 1;
  const expected = nodes.length / perSecond.length;
  const chiSquare = perSecond.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  // 59 degrees of freedom: a fair hash stays below 98.3 in 999 of 1,000 cases.
  assert.ok(chiSquare < 98.3, `chi-square ${chiSquare}`);
  assert.ok(Math.max(...perSecond) < 1.4 * expected, `${Math.max(...perSecond)} in one second`);
});

test("a delay is within the window, in whole milliseconds", () => {
  assert.ok(delays.every((delay) => Number.isInteger(delay) && delay >= 0 && delay < minute));
  assert.ok(Math.min(...delays) < minute / 100);
  assert.ok(Math.max(...delays) > minute - minute / 100);
});

test("a node waits equally long each time, also after an upgrade of Larder", () => {
  assert.equal(spreadDelay("worker-1", "app", "app:1", minute), 38_515);
  assert.equal(spreadDelay("worker-2", "app", "app:1", minute), 57_517);
});

test("another source or resource spreads the nodes anew", () => {
  const early = nodes.filter((_, index) => delays[index]! < minute / 10);
  for (const [resource, from] of [
    ["worker-134-0-0", "registry.example.com/boot-cache-worker:134.0.1"],
    ["worker-135-0-0", source],
  ] as const) {
    const again = early.filter((node) => spreadDelay(node, resource, from, minute) < minute / 10);
    assert.ok(again.length < early.length / 5, `${again.length} of ${early.length} early again`);
  }
});

test("names that read the same when joined are told apart", () => {
  assert.notEqual(spreadDelay("a", "bc", "d", minute), spreadDelay("ab", "c", "d", minute));
});

test("without a window there is no delay", () => {
  assert.equal(spreadDelay("worker-1", "app", source, 0), 0);
});
