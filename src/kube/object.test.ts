import assert from "node:assert/strict";
import { test } from "node:test";

import { asKubeObject } from "./object.ts";

test("an object keeps its members, and its metadata what is read of it", () => {
  const metadata = {
    name: "a",
    namespace: "b",
    uid: "c",
    resourceVersion: "1",
    generation: 2,
    labels: { d: "e" },
    annotations: { f: "g" },
    creationTimestamp: "2026-01-01T00:00:00Z",
  };
  const object = asKubeObject({
    apiVersion: "v1",
    kind: "Node",
    metadata: { ...metadata, managedFields: [{ manager: "kubelet" }], selfLink: "/x" },
    spec: { x: 1 },
  });
  assert.deepEqual(object, { apiVersion: "v1", kind: "Node", metadata, spec: { x: 1 } });
});

test("what has no name is no object", () => {
  for (const value of [undefined, null, 1, "a", [], {}, { metadata: {} }, { metadata: [] }]) {
    assert.equal(asKubeObject(value), undefined);
  }
  assert.equal(asKubeObject({ metadata: { name: 1 } }), undefined);
  assert.equal(asKubeObject({ metadata: { name: "" } }), undefined);
});

test("metadata of another type than it should have is left out", () => {
  const metadata = { name: "a", uid: 1, labels: { b: 1 }, annotations: "c", generation: "2" };
  assert.deepEqual(asKubeObject({ metadata }), { metadata: { name: "a" } });
});
