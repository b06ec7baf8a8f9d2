import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { LarderError } from "../errors.ts";
import { parseDuration } from "./duration.ts";

const read = (text: string): number => parseDuration(text, "--gc-delay");

const messageFor = (text: string): string => {
  try {
    return `no error but ${read(text)}`;
  } catch (error) {
    assert.ok(error instanceof LarderError && error.code === "usage", String(error));
    return error.message;
  }
};

test("durations are read as Go writes them", () => {
  const known: readonly (readonly [string, number])[] = [
    ["0", 0],
    ["0s", 0],
    ["500ms", 500],
    ["30s", 30_000],
    ["10m", 600_000],
    ["1h30m", 5_400_000],
    ["24h", 86_400_000],
    ["720h", 2_592_000_000],
    ["1.5h", 5_400_000],
    [".5s", 500],
    ["1.s", 1000],
    ["1m0.5s", 60_500],
    ["1h1m1s1ms", 3_661_001],
    ["30m1h", 5_400_000],
    ["250us", 0.25],
    ["250µs", 0.25],
    ["250μs", 0.25],
    ["1000000ns", 1],
  ];
  for (const [text, milliseconds] of known) assert.equal(read(text), milliseconds, text);
});

test("a duration of whole hours, minutes, seconds and milliseconds is read exactly", () => {
  const count = fc.integer({ min: 0, max: 5000 });
  fc.assert(
    fc.property(count, count, count, count, (h, m, s, ms) => {
      const expected = ((h * 60 + m) * 60 + s) * 1000 + ms;
      assert.equal(read(`${h}h${m}m${s}s${ms}ms`), expected);
    }),
  );
});

test("an error about a duration names the option, says what is wrong, and what form is right", () => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    ["", /"" is no duration for --gc-delay: it is empty: write it as in .*1h30m/],
    ["10", /the number 10 has no unit/],
    ["1h30", /the number 30 has no unit/],
    ["-5m", /it is negative/],
    ["1d", /"d" is none of the units ms, s, m and h; a day is 24h/],
    ["10min", /"min" is none of the units/],
    ["10M", /"M" is none of the units/],
    ["m", /a number was expected at "m"/],
    ["10 m", /a number was expected at " m"/],
    ["1h,5m", /expected at ",5m"/],
    [".s", /expected at "\.s"/],
    ["soon", /a number was expected at "soon"/],
    ["1constructors", /"constructors" is none of the units/],
    ["9999999999h", /longer than a hundred years/],
    [`${"9".repeat(400)}s`, /longer than a hundred years/],
  ];
  for (const [text, message] of wrong) assert.match(messageFor(text), message, text);
});

test("whatever is given, a duration is a number that is not negative, or a usage error", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const message = messageFor(text);
      assert.match(message, /^no error but \d|is no duration for/);
    }),
  );
});
