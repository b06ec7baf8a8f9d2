import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { test } from "node:test";

import { Interruption, type Patience } from "./interruption.ts";

const long = 60_000;

function setUp(patience: Patience = { cleaningMs: long, endingMs: long }) {
  const source = new EventEmitter();
  const forced: number[] = [];
  const ends = new EventEmitter();
  const force = (exitCode: number): void => {
    forced.push(exitCode);
    ends.emit("forced");
  };
  const interruption = new Interruption(source, force, patience);
  return { source, forced, ends, interruption };
}

for (const [name, exitCode] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  test(`the first ${name} asks for a clean end and means exit code ${exitCode}`, () => {
    const { source, forced, interruption } = setUp();
    assert.equal(interruption.exitCode, undefined);
    source.emit(name);
    assert.ok(interruption.signal.aborted);
    assert.equal(interruption.exitCode, exitCode);
    assert.deepEqual(forced, []);
    interruption.dispose();
  });
}

test("the second signal forces the end", () => {
  const { source, forced, interruption } = setUp();
  source.emit("SIGTERM");
  source.emit("SIGINT");
  assert.deepEqual(forced, [130]);
  assert.equal(interruption.exitCode, 143);
  interruption.dispose();
});

test("a clean end that takes too long is forced", async () => {
  const { source, forced, ends, interruption } = setUp({ cleaningMs: long, endingMs: 1 });
  const forcedOnce = once(ends, "forced");
  source.emit("SIGTERM");
  await forcedOnce;
  assert.deepEqual(forced, [143]);
  interruption.dispose();
});

test("cleaning up that takes too long is to stop, well before the end is forced", async () => {
  const { source, forced, interruption } = setUp({ cleaningMs: 1, endingMs: long });
  const { hurry } = interruption;
  const hurried = once(hurry, "abort");
  assert.ok(!hurry.aborted);
  source.emit("SIGTERM");
  assert.ok(!hurry.aborted);
  await hurried;
  assert.deepEqual(forced, []);
  interruption.dispose();
});

test("nothing is left listening or waiting afterwards", () => {
  const { source, forced, interruption } = setUp({ cleaningMs: 1, endingMs: 1 });
  source.emit("SIGINT");
  interruption.dispose();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) assert.equal(source.listenerCount(name), 0);
  assert.deepEqual(forced, []);
});
