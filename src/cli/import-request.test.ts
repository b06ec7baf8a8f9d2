import assert from "node:assert/strict";
import { test } from "node:test";

import type { ImportGiven } from "./import-options.ts";
import { parseImport } from "./import-request.ts";

const given: ImportGiven = {
  name: "boot",
  "cache-path": "/var/lib/image-cache",
  source: undefined,
  force: false,
  "min-free": "0",
  platform: "linux/arm64",
  "registry-config": undefined,
  "registry-ca": undefined,
  "insecure-registry": [],
  "registry-rewrite": [],
  quiet: false,
  output: "text",
};

test("the source of a reference is recorded as it was written", () => {
  const { origin } = parseImport(given, "boot:1");
  assert.equal(origin.kind, "reference");
  assert.equal(origin.source, "boot:1");
});

test("an archive is recorded by its file name alone", () => {
  const { origin } = parseImport({ ...given, source: "a.io/boot:1" }, "/mnt/usb/boot.tar");
  assert.deepEqual(origin, {
    kind: "archive",
    path: "/mnt/usb/boot.tar",
    archive: "boot.tar",
    source: "a.io/boot:1",
  });
});

test("a cache path has one spelling, with or without a slash at its end", () => {
  assert.equal(parseImport({ ...given, "cache-path": "/x/" }, "a:1").cachePath, "/x");
  assert.equal(parseImport({ ...given, "cache-path": "/x" }, "a:1").cachePath, "/x");
});

test("the platform is the machine's unless one is named", () => {
  assert.equal(parseImport(given, "a:1").platform.architecture, "arm64");
  assert.equal(parseImport({ ...given, platform: undefined }, "a:1").platform.os, "linux");
});

test("two rewrites that contradict each other are wrong usage", () => {
  const rewrites = ["a.io=b.io", "a.io=c.io"];
  assert.throws(() => parseImport({ ...given, "registry-rewrite": rewrites }, "a:1"), {
    code: "usage",
  });
});
