import assert from "node:assert/strict";
import { test } from "node:test";

import { bytesOf, LeapingClock } from "../../test/registry/client.ts";
import { buildImage } from "../../testbed/built-image.ts";
import { memoryImage } from "../../testbed/memory-image.ts";
import { systemClock } from "../registry/clock.ts";
import { parseBandwidth, throttle } from "./bandwidth.ts";
import { TokenBucket } from "./token-bucket.ts";

const built = buildImage({
  layers: [1, 2].map((fill) => ({
    tar: Buffer.alloc(1024 * 1024, fill),
    compression: "none" as const,
  })),
});

test("--max-bandwidth is bytes a second, with a suffix or without", () => {
  assert.equal(parseBandwidth("10M"), 10_000_000);
  assert.equal(parseBandwidth("512Ki"), 524_288);
  assert.equal(parseBandwidth("1.5G"), 1_500_000_000);
  assert.equal(parseBandwidth("300000"), 300_000);
});

test("any other --max-bandwidth is a usage error that says what form is right", () => {
  for (const text of ["", "0", "0k", "fast", "10MB", "10M/s", "-1M", "0.5"]) {
    assert.throws(() => parseBandwidth(text), { code: "usage" }, text);
  }
  assert.throws(() => parseBandwidth("fast"), /"fast".*--max-bandwidth.*bytes a second.*10M/);
});

test("a throttled image is the same image", async () => {
  const clock = new LeapingClock();
  const image = memoryImage(built);
  const slow = throttle(image, new TokenBucket({ bytesPerSecond: 100_000, clock }));
  assert.equal(slow.digest, image.digest);
  for (const [index, layer] of slow.layers.entries()) {
    const original = image.layers[index];
    assert.deepEqual({ ...layer, open: undefined }, { ...original, open: undefined });
    assert.deepEqual(await bytesOf(layer), await bytesOf(original));
  }
});

test("all pulls together keep to the rate", async () => {
  const clock = new LeapingClock();
  const bucket = new TokenBucket({ bytesPerSecond: 1024 * 1024, clock });
  const begun = clock.monotonic();
  const images = [throttle(memoryImage(built), bucket), throttle(memoryImage(built), bucket)];
  await Promise.all(images.flatMap(({ layers }) => layers.map((layer) => bytesOf(layer))));
  const seconds = (clock.monotonic() - begun) / 1000;
  assert.ok(Math.abs(seconds - 3.75) < 0.01, `${seconds} s for 4 MiB at 1 MiB/s`);
});

test("the rate is held on a real clock", async () => {
  const bucket = new TokenBucket({ bytesPerSecond: 4 * 1024 * 1024, clock: systemClock });
  const image = throttle(memoryImage(built), bucket);
  const begun = performance.now();
  await Promise.all(image.layers.map((layer) => bytesOf(layer)));
  const milliseconds = performance.now() - begun;
  // 2 MiB at 4 MiB/s, less the quarter of a second that may come at once.
  assert.ok(milliseconds >= 245, `${milliseconds} ms`);
});

test("an abort ends a layer at once and releases its source", async () => {
  let closed = 0;
  const stop = new AbortController();
  const image = memoryImage(built, { onClose: () => (closed += 1) });
  // The first block takes a quarter of an hour of this rate to pay off.
  const slow = throttle(image, new TokenBucket({ bytesPerSecond: 64, clock: systemClock }));
  const reading = bytesOf(slow.layers[0], stop.signal);
  setImmediate(() => stop.abort());
  await assert.rejects(reading, { code: "interrupted" });
  assert.equal(closed, 1);
});

test("a reader that stops early releases the source", async () => {
  let closed = 0;
  const image = memoryImage(built, { onClose: () => (closed += 1) });
  const bucket = new TokenBucket({ bytesPerSecond: 10 ** 9, clock: systemClock });
  for await (const _ of throttle(image, bucket).layers[0]!.open(new AbortController().signal))
    break;
  assert.equal(closed, 1);
});
