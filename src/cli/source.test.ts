import assert from "node:assert/strict";
import { test } from "node:test";

import { sourceOf } from "./source.ts";

test("a source that starts with / or . is a path", () => {
  for (const text of ["/mnt/usb/layout", "./layout", "../layout", ".hidden"]) {
    assert.deepEqual(sourceOf(text), { kind: "archive", path: text });
  }
});

test("a source that ends in .tar, .tar.gz, .tgz or .tar.zst is a path", () => {
  for (const text of ["boot.tar", "a/boot.tar.gz", "boot.tgz", "boot.tar.zst"]) {
    assert.deepEqual(sourceOf(text), { kind: "archive", path: text });
  }
});

test("any other source is a reference, whatever lies in the current directory", () => {
  // `src` is a directory where the tests run.
  for (const text of ["src", "src/cli", "registry.example.com/boot:1", "boot.tar.xz", "tar"]) {
    assert.deepEqual(sourceOf(text), { kind: "reference", text });
  }
});
