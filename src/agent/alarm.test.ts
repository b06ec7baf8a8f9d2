import assert from "node:assert/strict";
import { test } from "node:test";

import { HandClock } from "../../testbed/hand-clock.ts";
import { Alarm } from "./alarm.ts";

function alarm() {
  const clock = new HandClock();
  const rings: number[] = [];
  return { clock, rings, alarm: new Alarm(clock, () => rings.push(clock.monotonic())) };
}

test("an alarm rings once, at the earliest time that it was set to", async () => {
  const { clock, rings, alarm: it } = alarm();
  it.set(500);
  it.set(200);
  it.set(900);
  await clock.pass(2000);
  assert.deepEqual(rings, [200]);
  assert.equal(clock.sleepers, 0);
});

test("an alarm that has rung can be set again, also while it rings", async () => {
  const clock = new HandClock();
  const rings: number[] = [];
  const it = new Alarm(clock, () => {
    rings.push(clock.monotonic());
    if (rings.length < 3) it.set(clock.monotonic() + 100);
  });
  it.set(100);
  await clock.pass(1000);
  assert.deepEqual(rings, [100, 200, 300]);
});

test("a time that is past rings at once, but not within the call that set it", async () => {
  const { clock, rings, alarm: it } = alarm();
  await clock.pass(1000);
  it.set(300);
  assert.deepEqual(rings, []);
  await clock.pass(0);
  assert.deepEqual(rings, [1000]);
});

test("an alarm that was cleared does not ring, and holds no timer", async () => {
  const { clock, rings, alarm: it } = alarm();
  it.clear();
  it.set(100);
  it.clear();
  assert.equal(clock.sleepers, 0);
  await clock.pass(1000);
  assert.deepEqual(rings, []);
});
