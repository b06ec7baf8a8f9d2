import assert from "node:assert/strict";
import { test } from "node:test";

import { backoffMs } from "./backoff.ts";
import { informerLimits, timeoutOf } from "./informer-limits.ts";

test("delays double from 0.5 s up to 30 s, and half of each is random", () => {
  const { backoff } = informerLimits;
  const longest = [1, 2, 3, 4, 5, 6, 7, 8, 1_000].map((n) => backoffMs(n, 1, backoff));
  assert.deepEqual(longest, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  assert.equal(backoffMs(1, 0, backoff), 250);
});

test("a watch is asked for 290 to 590 whole seconds", () => {
  assert.equal(timeoutOf(0, informerLimits), 290);
  assert.equal(timeoutOf(0.999_999, informerLimits), 590);
  assert.ok(Number.isInteger(timeoutOf(0.123, informerLimits)));
});
