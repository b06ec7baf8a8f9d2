import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { isOlder } from "./history.ts";

test("resourceVersions compare as whole numbers of any length", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n }), fc.bigInt({ min: 0n }), (one, other) => {
      assert.equal(isOlder(String(one), String(other)), one < other);
    }),
  );
});

test("resourceVersions that are no numbers are never older", () => {
  for (const [one, other] of [
    ["", "1"],
    ["a", "b"],
    ["1", "b"],
    ["01", "2"],
    ["-1", "2"],
  ] as const) {
    assert.equal(isOlder(one, other), false);
  }
});
