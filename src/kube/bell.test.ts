import assert from "node:assert/strict";
import { test } from "node:test";

import { HandClock, settled } from "../../testbed/hand-clock.ts";
import { Bell } from "./bell.ts";

/** Whether a wait is over. */
function watched(wait: Promise<void>): { over: boolean } {
  const state = { over: false };
  void wait.then(() => {
    state.over = true;
  });
  return state;
}

test("a wait ends with its time", async () => {
  const clock = new HandClock();
  const wait = watched(new Bell(clock).wait(100, new AbortController().signal));
  await clock.pass(99);
  assert.equal(wait.over, false);
  await clock.pass(1);
  assert.equal(wait.over, true);
});

test("a bell ends a wait, and leaves no timer behind", async () => {
  const clock = new HandClock();
  const bell = new Bell(clock);
  const wait = watched(bell.wait(100, new AbortController().signal));
  await settled();
  bell.ring();
  await settled();
  assert.equal(wait.over, true);
  assert.equal(clock.sleepers, 0);
});

test("a bell that rang while nobody waited ends the next wait at once, and no other", async () => {
  const clock = new HandClock();
  const bell = new Bell(clock);
  bell.ring();
  bell.ring();
  await bell.wait(undefined, new AbortController().signal);
  const wait = watched(bell.wait(undefined, new AbortController().signal));
  await settled();
  assert.equal(wait.over, false);
  bell.ring();
  await settled();
  assert.equal(wait.over, true);
});

test("an abort ends a wait without an error", async () => {
  const clock = new HandClock();
  const bell = new Bell(clock);
  const stop = new AbortController();
  const wait = bell.wait(100, stop.signal);
  stop.abort();
  await wait;
  await bell.wait(undefined, stop.signal);
  assert.equal(clock.sleepers, 0);
});
