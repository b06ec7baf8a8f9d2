import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { formatBytes, parseBytes } from "./bytes.ts";

test("sizes are printed in the largest unit that leaves a number below 1024", () => {
  assert.equal(formatBytes(0), "0 B");
  assert.equal(formatBytes(1023), "1023 B");
  assert.equal(formatBytes(1024), "1.0 KiB");
  assert.equal(formatBytes(1024 ** 2 - 1), "1.0 MiB");
  assert.equal(formatBytes(200 * 1024 ** 2), "200.0 MiB");
  assert.equal(formatBytes(3.5 * 1024 ** 4), "3.5 TiB");
  assert.equal(formatBytes(5000 * 1024 ** 5), "5000.0 PiB");
});

test("sizes are printed in at most ten characters", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (bytes) => {
      assert.ok(formatBytes(bytes).length <= 10);
    }),
  );
});

test("sizes are read with the suffixes k, M, G, Ki, Mi and Gi", () => {
  assert.equal(parseBytes("0"), 0);
  assert.equal(parseBytes("512"), 512);
  assert.equal(parseBytes("20k"), 20_000);
  assert.equal(parseBytes("5M"), 5_000_000);
  assert.equal(parseBytes("1G"), 1_000_000_000);
  assert.equal(parseBytes("20Ki"), 20_480);
  assert.equal(parseBytes("5Mi"), 5 * 1024 ** 2);
  assert.equal(parseBytes("1Gi"), 1024 ** 3);
});

test("what is no size is not read as one", () => {
  for (const text of ["", "-1", "1.5G", "5m", "5 M", "5MB", "Gi", "1e3", "999999999999999Gi"]) {
    assert.equal(parseBytes(text), undefined, text);
  }
});
