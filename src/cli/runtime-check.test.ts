import assert from "node:assert/strict";
import { test } from "node:test";
import { zstdDecompressSync } from "node:zlib";

import { checkRuntime } from "./runtime-check.ts";

test("this runtime passes, in under two milliseconds", () => {
  checkRuntime();
  const started = performance.now();
  checkRuntime();
  assert.ok(performance.now() - started < 2);
});

test("a Node older than 26.10 is refused with what to do", () => {
  for (const node of ["18.20.4", "24.18.0", "26.9.9"]) {
    assert.throws(() => checkRuntime({ node, decompress: zstdDecompressSync }), {
      code: "internal",
      message: `cannot run on Node ${node}: it needs 26.10 or newer: use the larder that brings its own Node, or set LARDER_NODE to a newer one`,
    });
  }
});

test("a newer Node passes", () => {
  for (const node of ["26.10.0", "26.12.1", "27.0.0", "30.1.0-nightly"]) {
    checkRuntime({ node, decompress: zstdDecompressSync });
  }
});

test("a runtime whose zstd drops frames is refused", () => {
  const firstFrameOnly = (bytes: Buffer): Buffer => zstdDecompressSync(bytes).subarray(0, 3);
  assert.throws(() => checkRuntime({ node: "26.12.1", decompress: firstFrameOnly }), {
    code: "internal",
    message: /its zstd loses every frame after the first/,
  });
});

test("a runtime whose zstd fails is refused", () => {
  const broken = (): Buffer => {
    throw new Error("no such codec");
  };
  assert.throws(() => checkRuntime({ node: "26.12.1", decompress: broken }), { code: "internal" });
});
