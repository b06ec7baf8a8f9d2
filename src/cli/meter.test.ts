import assert from "node:assert/strict";
import { test } from "node:test";

import { Meter } from "./meter.ts";

test("a rate is not told before there is enough to tell", () => {
  const meter = new Meter(1000);
  meter.add(500, 1100);
  assert.equal(meter.rate(1200), undefined);
});

test("a steady stream has its rate", () => {
  const meter = new Meter(0);
  for (let now = 10; now <= 20_000; now += 10) meter.add(100, now);
  assert.equal(Math.round(meter.rate(20_000) ?? 0), 10_000);
  assert.equal(meter.total, 200_000);
});

test("a rate is that of the last seconds, not of the whole time", () => {
  const meter = new Meter(0);
  for (let now = 100; now <= 60_000; now += 100) meter.add(100, now);
  for (let now = 60_100; now <= 70_000; now += 100) meter.add(1000, now);
  assert.ok((meter.rate(70_000) ?? 0) > 9000);
});

test("a stream that stalls comes to a rate of nothing", () => {
  const meter = new Meter(0);
  for (let now = 100; now <= 10_000; now += 100) meter.add(100, now);
  assert.equal(Math.round(meter.rate(16_000) ?? -1), 0);
});

test("a burst that is followed by nothing comes to a rate of nothing", () => {
  const meter = new Meter(0);
  for (let now = 1; now <= 100; now += 1) meter.add(100, now);
  assert.equal(meter.rate(5200), 0);
});
