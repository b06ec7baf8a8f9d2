import assert from "node:assert/strict";
import { test } from "node:test";

import { systemClock } from "./clock.ts";

test("a sleep of months does not end at once, as Node's own timers would", async () => {
  const stop = new AbortController();
  let ended = false;
  const sleep = systemClock.sleep(90 * 24 * 3_600_000, stop.signal).then(() => {
    ended = true;
  });
  await systemClock.sleep(20, stop.signal);
  assert.equal(ended, false);
  stop.abort(new Error("enough"));
  await assert.rejects(sleep, /enough/);
});

test("a sleep that is over is no sleep", async () => {
  await systemClock.sleep(0, new AbortController().signal);
  await systemClock.sleep(-5, new AbortController().signal);
});
