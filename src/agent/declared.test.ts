import assert from "node:assert/strict";
import { test } from "node:test";

import { cacheSpec } from "../../testbed/cache-spec.ts";
import type { NodeFacts } from "./cache-spec.ts";
import { declared, type Cluster } from "./declared.ts";
import { nothingKnown } from "./memory.ts";

const node: NodeFacts = { name: "n", uid: "u", resourceVersion: "1", labels: { role: "worker" } };
const here = cacheSpec({ name: "here", cachePath: "/here" });
const elsewhere = cacheSpec({ name: "b", cachePath: "/b", nodeSelector: { role: "db" } });
const yesterday = cacheSpec({ name: "yesterday", cachePath: "/yesterday" });
const memory = { ...nothingKnown, desired: [yesterday] };

function cluster(given: Partial<Cluster>): Cluster {
  return { synced: true, live: true, node, caches: [here, elsewhere], ...given };
}

test("this node's part is desired; the paths of all are scanned", () => {
  assert.deepEqual(declared(cluster({}), memory), {
    desired: [here],
    paths: ["/here", "/b"],
    node,
    current: true,
  });
});

test("what was heard stays good while a watch is lost, but is not of now", () => {
  const said = declared(cluster({ live: false }), memory);
  assert.deepEqual(said.desired, [here]);
  assert.equal(said.node, node);
  assert.equal(said.current, false);
});

for (const [what, given] of [
  ["a cluster that has not spoken yet", { synced: false }],
  ["a cluster that knows no such node", { node: undefined }],
] as const) {
  test(`in place of ${what} stands the memory, and no label is written`, () => {
    assert.deepEqual(declared(cluster(given), memory), {
      desired: [yesterday],
      paths: ["/yesterday"],
      node: undefined,
      current: false,
    });
  });
}
