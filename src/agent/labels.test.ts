import assert from "node:assert/strict";
import { test } from "node:test";

import { labelPatch, type Sync } from "./labels.ts";

const prefix = "image-cache.scality.com/";

function patch(have: Record<string, string>, want: Record<string, Sync>) {
  return labelPatch(prefix, have, new Map(Object.entries(want)));
}

test("labels that are as wanted need no request", () => {
  assert.equal(patch({ [`${prefix}a`]: "synced", other: "x" }, { a: "synced" }), undefined);
  assert.equal(patch({ other: "x" }, {}), undefined);
});

test("what changed is patched, and only that", () => {
  const have = { [`${prefix}a`]: "pending", [`${prefix}b`]: "synced", other: "x" };
  assert.deepEqual(patch(have, { a: "synced", b: "synced", c: "pending" }), {
    [`${prefix}a`]: "synced",
    [`${prefix}c`]: "pending",
  });
});

test("a label under the prefix that nothing desires is removed, others never", () => {
  const have = { [`${prefix}old`]: "synced", "image-cache.scality.com": "x", other: "y" };
  assert.deepEqual(patch(have, {}), { [`${prefix}old`]: null });
});

test("a value that somebody else wrote is put right", () => {
  assert.deepEqual(patch({ [`${prefix}a`]: "yes" }, { a: "synced" }), { [`${prefix}a`]: "synced" });
});
