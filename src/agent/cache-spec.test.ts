import assert from "node:assert/strict";
import { test } from "node:test";

import { cacheSpec } from "../../testbed/cache-spec.ts";
import { desiredOf, parseCache, parseNode, placeOf, selects } from "./cache-spec.ts";

const defaultPath = "/var/lib/image-cache";
const source = "registry.example.com/boot:1";

function parsed(spec: unknown, name = "a") {
  return parseCache({ name, uid: "u" }, spec, defaultPath);
}

test("an ImageCache without a cache path is in the default one, without a selector for every node", () => {
  assert.deepEqual(parsed({ source }), {
    name: "a",
    uid: "u",
    source,
    cachePath: defaultPath,
    nodeSelector: {},
  });
  assert.deepEqual(parsed({ source, cachePath: null, nodeSelector: null }), parsed({ source }));
});

test("a cache path has one spelling, so that two resources in it are seen to be in one", () => {
  assert.equal(parsed({ source, cachePath: "/data/cache/" })?.cachePath, "/data/cache");
});

for (const [what, spec, name] of [
  ["no spec", undefined],
  ["a spec that is a text", "x"],
  ["no source", {}],
  ["a source that is a number", { source: 1 }],
  ["a relative cache path", { source, cachePath: "data" }],
  ["a cache path with ..", { source, cachePath: "/data/../etc" }],
  ["a cache path that is a list", { source, cachePath: ["/data"] }],
  ["a selector that is a list", { source, nodeSelector: ["a"] }],
  ["a selector with a value that is no text", { source, nodeSelector: { a: "1", b: 2 } }],
  ["a name that could leave the cache path", { source }, ".."],
  ["a name longer than a label's", { source }, "a".repeat(64)],
] as const) {
  test(`an ImageCache with ${what} is left out`, () => {
    assert.equal(parsed(spec, name), undefined);
  });
}

test("a node without labels has none", () => {
  assert.deepEqual(parseNode({ name: "n" }), {
    name: "n",
    uid: "",
    resourceVersion: "",
    labels: {},
  });
});

test("a selector wants every pair exactly, and an empty one nothing", () => {
  const cache = cacheSpec({ name: "a", nodeSelector: { os: "linux", zone: "" } });
  assert.equal(selects(cache, { os: "linux", zone: "", other: "x" }), true);
  assert.equal(selects(cache, { os: "linux" }), false);
  assert.equal(selects(cache, { os: "Linux", zone: "" }), false);
  assert.equal(selects(cacheSpec({ name: "a" }), {}), true);
});

test("what a node shall have is sorted by name, whatever the order it was heard in", () => {
  const [a, b, c] = ["a", "b", "c"].map((name) => cacheSpec({ name }));
  assert.ok(a && b && c);
  const elsewhere = cacheSpec({ name: "d", nodeSelector: { role: "other" } });
  assert.deepEqual(desiredOf(new Set([c, elsewhere, a, b]), { role: "worker" }), [a, b, c]);
});

test("a place is the directory's path", () => {
  assert.equal(placeOf(cacheSpec({ name: "a", cachePath: "/data" })), "/data/a");
});
