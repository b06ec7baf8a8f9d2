import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { giveBackMemory } from "./memory.ts";

test("memory that nobody uses any more is given back, though nothing asks for more", async () => {
  const forgotten = new WeakRef({ content: "a".repeat(1000) });
  // What was looked at within a turn of the event loop lives as long as that turn.
  await turn();
  giveBackMemory();
  assert.equal(forgotten.deref(), undefined);
});

test("a program cannot collect garbage by itself after that", () => {
  giveBackMemory();
  assert.equal("gc" in globalThis, false);
});
