import assert from "node:assert/strict";
import { test } from "node:test";

import { parseMinFree } from "./min-free.ts";

test("--min-free is bytes, with a suffix or without", () => {
  assert.deepEqual(parseMinFree("0"), { bytes: 0 });
  assert.deepEqual(parseMinFree("500Mi"), { bytes: 500 * 1024 ** 2 });
  assert.deepEqual(parseMinFree("1.5G"), { bytes: 1_500_000_000 });
});

test("--min-free is a percentage", () => {
  assert.deepEqual(parseMinFree("15%"), { percent: 15 });
  assert.deepEqual(parseMinFree("2.5%"), { percent: 2.5 });
});

test("any other --min-free is a usage error that says what form is right", () => {
  for (const text of ["", "lots", "100%", "-1", "5%%", "1.5"]) {
    assert.throws(() => parseMinFree(text), { code: "usage" }, text);
  }
  assert.throws(() => parseMinFree("lots"), /--min-free.*500Mi or 15%/);
});
