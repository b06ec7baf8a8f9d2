import assert from "node:assert/strict";
import { test } from "node:test";

import type { Clock } from "../registry/clock.ts";
import { steadyClock } from "./steady-clock.ts";

test("a date that is set while the agent runs makes nothing due", () => {
  let [now, date] = [1000, Date.UTC(2020, 0, 1)];
  const system: Clock = { monotonic: () => now, date: () => date, sleep: async () => {} };
  const steady = steadyClock(system);
  const before = steady.date();
  now += 5000;
  date = Date.UTC(2026, 0, 1);
  assert.equal(steady.date() - before, 5000);
  assert.equal(steady.monotonic(), 6000);
});
