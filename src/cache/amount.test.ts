import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { formatBytes, parseAmount } from "./amount.ts";

test("amounts are printed in the largest unit that leaves a number below 1024", () => {
  assert.equal(formatBytes(0), "0 B");
  assert.equal(formatBytes(1023), "1023 B");
  assert.equal(formatBytes(1023.5), "1.0 KiB");
  assert.equal(formatBytes(1024), "1.0 KiB");
  assert.equal(formatBytes(1024 ** 2 - 1), "1.0 MiB");
  assert.equal(formatBytes(200 * 1024 ** 2), "200.0 MiB");
  assert.equal(formatBytes(3.5 * 1024 ** 4), "3.5 TiB");
  assert.equal(formatBytes(5000 * 1024 ** 5), "5000.0 PiB");
});

test("amounts are rounded up, so that freeing what is asked for is enough", () => {
  assert.equal(formatBytes(1025), "1.1 KiB");
  assert.equal(formatBytes(11.2), "12 B");
});

test("amounts are printed in at most ten characters", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (bytes) => {
      assert.ok(formatBytes(bytes).length <= 10);
    }),
  );
});

test("amounts are read with the suffixes k, M, G, Ki, Mi and Gi", () => {
  assert.equal(parseAmount("0"), 0);
  assert.equal(parseAmount("512"), 512);
  assert.equal(parseAmount("20k"), 20_000);
  assert.equal(parseAmount("10M"), 10_000_000);
  assert.equal(parseAmount("1G"), 1_000_000_000);
  assert.equal(parseAmount("512Ki"), 524_288);
  assert.equal(parseAmount("5Mi"), 5 * 1024 ** 2);
  assert.equal(parseAmount("1Gi"), 1024 ** 3);
});

test("amounts may have a fraction of a unit, and are whole bytes", () => {
  assert.equal(parseAmount("1.5G"), 1_500_000_000);
  assert.equal(parseAmount("0.5Ki"), 512);
  assert.equal(parseAmount("2.25Mi"), 2.25 * 1024 ** 2);
  assert.equal(parseAmount("0.3333Ki"), 341);
});

test("what is no amount is not read as one", () => {
  const odd = [
    "",
    " ",
    "-1",
    "+1",
    "1.5",
    "1.",
    ".5G",
    "1.G",
    "5m",
    "5K",
    "5 M",
    "5MB",
    "Gi",
    "1e3",
  ];
  for (const text of [...odd, "1,5G", "999999999999999Gi", "1_000", "0x10", "Infinity"]) {
    assert.equal(parseAmount(text), undefined, text);
  }
});
