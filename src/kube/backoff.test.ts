import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { backoffMs } from "./backoff.ts";

const limits = { firstMs: 1_000, maxMs: 300_000 };

test("a delay doubles with each failure up to the longest", () => {
  const delays = [1, 2, 3, 8, 9, 10, 1_000_000].map((failures) => backoffMs(failures, 1, limits));
  assert.deepEqual(delays, [1_000, 2_000, 4_000, 128_000, 256_000, 300_000, 300_000]);
});

test("a delay is between half of its longest and all of it", () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), random, (failures, chance) => {
      const longest = backoffMs(failures, 1, limits);
      const delay = backoffMs(failures, chance, limits);
      assert.ok(delay >= longest / 2 && delay <= longest, `${delay} of ${longest}`);
    }),
  );
});
