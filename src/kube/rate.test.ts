import assert from "node:assert/strict";
import { test } from "node:test";

import { HandClock } from "../../testbed/hand-clock.ts";
import { Rate } from "./rate.ts";

function takeAll(rate: Rate): number {
  let taken = 0;
  for (; rate.waitMs() === 0; taken++) rate.take();
  return taken;
}

test("a rate allows a burst, then one at a time", async () => {
  const clock = new HandClock();
  const rate = new Rate({ burst: 3, everyMs: 1000 }, clock);
  assert.equal(takeAll(rate), 3);
  assert.equal(rate.waitMs(), 1000);
  await clock.pass(400);
  assert.equal(rate.waitMs(), 600);
  await clock.pass(600);
  assert.equal(takeAll(rate), 1);
});

test("a long silence earns one burst and no more", async () => {
  const clock = new HandClock();
  const rate = new Rate({ burst: 3, everyMs: 1000 }, clock);
  takeAll(rate);
  await clock.pass(2000);
  assert.equal(takeAll(rate), 2);
  await clock.pass(1_000_000);
  assert.equal(takeAll(rate), 3);
});
