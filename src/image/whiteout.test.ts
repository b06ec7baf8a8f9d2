import assert from "node:assert/strict";
import { test } from "node:test";

import { whiteoutOf } from "./whiteout.ts";

function of(path: string): unknown {
  return whiteoutOf(path.split("/"));
}

test(".wh.<name> is the whiteout of <name> beside it", () => {
  assert.deepEqual(of(".wh.a"), { kind: "path", path: ["a"] });
  assert.deepEqual(of("d/e/.wh.a"), { kind: "path", path: ["d", "e", "a"] });
  assert.deepEqual(of(".wh.wh.a"), { kind: "path", path: ["wh.a"] });
  assert.deepEqual(of(".wh...a"), { kind: "path", path: ["..a"] });
});

test(".wh..wh.opq is the whiteout of everything below its directory", () => {
  assert.deepEqual(of(".wh..wh.opq"), { kind: "below", path: [] });
  assert.deepEqual(of("d/.wh..wh.opq"), { kind: "below", path: ["d"] });
});

test("other names that begin with .wh..wh. are metadata, and everything below them", () => {
  for (const path of [
    ".wh..wh.aufs",
    ".wh..wh.plnk",
    ".wh..wh.plnk/1.2",
    "d/.wh..wh.orph",
    ".wh..wh.",
    ".wh..wh.opqx",
  ]) {
    assert.deepEqual(of(path), { kind: "metadata" }, path);
  }
});

test("a whiteout that names no file is invalid", () => {
  for (const path of [".wh.", ".wh..", ".wh...", "d/.wh.", "d/.wh..."]) {
    assert.deepEqual(of(path), { kind: "invalid", why: "is a whiteout that names no file" }, path);
  }
});

test("an entry below a whiteout is invalid", () => {
  for (const path of [".wh.a/b", "d/.wh.a/b/c", ".wh..wh.opq/a", ".wh.a/.wh.b"]) {
    assert.deepEqual(of(path), { kind: "invalid", why: "lies below a whiteout" }, path);
  }
});

test("names that only look like whiteouts are not", () => {
  for (const path of ["a", "wh.a", ".wha", "a.wh.b", "x.wh..wh.opq", ".WH.a", ""]) {
    assert.equal(of(path), undefined, path);
  }
});
