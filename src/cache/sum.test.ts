import assert from "node:assert/strict";
import { test } from "node:test";

import { newSum, sumLike } from "./sum.ts";

test("a checksum is written as its algorithm and hexadecimal digits", () => {
  const sum = newSum();
  sum.update(Buffer.from("1234"));
  sum.update(Buffer.from("56789"));
  assert.equal(sum.text(), "crc32:cbf43926");
});

test("leading zeros of a checksum are kept", () => {
  assert.equal(newSum().text(), "crc32:00000000");
});

test("a checksum of another known algorithm is compared by that algorithm", () => {
  const sum = sumLike("sha256:00");
  sum?.update(Buffer.from("abc"));
  assert.equal(
    sum?.text(),
    "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
});

test("an algorithm that is not known has no checksum", () => {
  for (const text of ["", "crc32", "blake9:00", "constructor:00"]) {
    assert.equal(sumLike(text), undefined);
  }
});
