import assert from "node:assert/strict";
import { test } from "node:test";

import { Numbers } from "./numbers.ts";

test("a list of numbers keeps them all while it grows", () => {
  const numbers = new Numbers();
  for (let index = 0; index < 5000; index++) numbers.push(index * 2 ** 36 - 1);
  assert.equal(numbers.length, 5000);
  for (let index = 0; index < 5000; index++) assert.equal(numbers.get(index), index * 2 ** 36 - 1);
});

test("a number is replaced by any other with set, and by a larger one only with raise", () => {
  const numbers = new Numbers();
  numbers.push(5);
  numbers.raise(0, 4);
  assert.equal(numbers.get(0), 5);
  numbers.raise(0, 6);
  assert.equal(numbers.get(0), 6);
  numbers.set(0, 1);
  assert.equal(numbers.get(0), 1);
});
