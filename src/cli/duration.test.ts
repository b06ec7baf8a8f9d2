import assert from "node:assert/strict";
import { test } from "node:test";

import { formatDuration, formatEstimate } from "./duration.ts";

test("durations are printed as a person would say them", () => {
  assert.equal(formatDuration(0), "0.0s");
  assert.equal(formatDuration(340), "0.3s");
  assert.equal(formatDuration(9940), "9.9s");
  assert.equal(formatDuration(9960), "10s");
  assert.equal(formatDuration(59_600), "1m 00s");
  assert.equal(formatDuration(185_000), "3m 05s");
  assert.equal(formatDuration(7_800_000), "2h 10m");
});

test("a time left is printed in whole seconds, rounded up", () => {
  assert.equal(formatEstimate(1), "1s");
  assert.equal(formatEstimate(3500), "4s");
  assert.equal(formatEstimate(0), "0s");
});
