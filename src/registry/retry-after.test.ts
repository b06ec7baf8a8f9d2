import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { retryAfter } from "./retry-after.ts";

const now = Date.UTC(2026, 0, 1);

suite("Retry-After", () => {
  for (const [header, expected] of [
    ["0", 0],
    ["120", 120_000],
    [" 7 ", 7_000],
    ["Thu, 01 Jan 2026 00:01:00 GMT", 60_000],
    ["Thursday, 01-Jan-26 00:01:00 GMT", 60_000],
    ["Wed, 31 Dec 2025 00:00:00 GMT", 0],
    ["", undefined],
    [undefined, undefined],
    ["-5", undefined],
    ["1.5", undefined],
    ["soon", undefined],
    ["Thursday", undefined],
    ["99999999999999999999", undefined],
  ] as const) {
    test(`of ${JSON.stringify(header)} is ${expected} ms`, () => {
      assert.equal(retryAfter(header, now), expected);
    });
  }
});
