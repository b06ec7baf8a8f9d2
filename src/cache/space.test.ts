import assert from "node:assert/strict";
import { test } from "node:test";

import { InsufficientDiskError } from "../errors.ts";
import { checkSpace, reserveOf } from "./space.ts";

const space = { free: 1000, total: 4000 };

function missing(needed: number, minFree?: Parameters<typeof reserveOf>[0]): number {
  try {
    checkSpace("cannot fill /c/app", "/c", space, needed, minFree);
    return 0;
  } catch (error) {
    assert.ok(error instanceof InsufficientDiskError);
    assert.equal(error.code, "disk");
    return error.missingBytes;
  }
}

test("the reserve is bytes, or percent of the whole file system; none by default", () => {
  assert.equal(reserveOf(undefined, 4000), 0);
  assert.equal(reserveOf({ bytes: 7 }, 4000), 7);
  assert.equal(reserveOf({ percent: 15 }, 4000), 600);
});

test("what is needed and the reserve must both fit into the free space", () => {
  assert.equal(missing(1000), 0);
  assert.equal(missing(1001), 1);
  assert.equal(missing(400, { percent: 15 }), 0);
  assert.equal(missing(401, { percent: 15 }), 1);
  assert.equal(missing(0, { bytes: 1500 }), 500);
});

test("too little space says how much is free, needed, kept and missing at least", () => {
  assert.throws(
    () => checkSpace("cannot fill /c/app", "/c", space, 600, { bytes: 500 }),
    /1000 B are free below \/c, at least 600 B more are needed and 500 B shall stay free: free at least 100 B there/,
  );
});
