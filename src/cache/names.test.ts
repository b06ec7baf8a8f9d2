import assert from "node:assert/strict";
import { test } from "node:test";

import { LarderError } from "../errors.ts";
import { checkCachePath, checkName } from "./names.ts";

function refusal(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    assert.ok(error instanceof LarderError);
    assert.equal(error.code, "usage");
    return error.message;
  }
  return assert.fail("nothing was refused");
}

test("a name is a lower-case DNS subdomain of at most 63 characters", () => {
  for (const name of ["a", "0", "worker-134-0-0", "a.b-c.d", "a".repeat(63)]) {
    assert.equal(checkName(name), name);
  }
  for (const name of ["", "-a", "a-", "a..b", ".a", "a.", "a.-b", "a_b", "é", "a/b", "a\n"]) {
    refusal(() => checkName(name));
  }
});

test("a refused name is told what is wrong with it", () => {
  assert.match(
    refusal(() => checkName("")),
    /it is empty/,
  );
  assert.match(
    refusal(() => checkName("a".repeat(64))),
    /64 characters and the limit is 63/,
  );
  assert.match(
    refusal(() => checkName("Worker")),
    /upper-case/,
  );
  assert.match(
    refusal(() => checkName("a_b")),
    /the character "_"/,
  );
  assert.match(
    refusal(() => checkName("a-")),
    /start and end with a letter or a digit/,
  );
});

test("a refused name of any length makes a short message of one line", () => {
  const message = refusal(() => checkName(`a\n${"x".repeat(10_000)}`));
  assert.ok(message.length < 400);
  assert.doesNotMatch(message, /\n/);
});

test("a cache path is absolute, at most 1,024 characters, and has no two dots anywhere", () => {
  assert.match(
    refusal(() => checkCachePath("")),
    /empty/,
  );
  assert.match(
    refusal(() => checkCachePath("var/lib")),
    /does not start with a slash/,
  );
  assert.match(
    refusal(() => checkCachePath("/var/../etc")),
    /"\.\."/,
  );
  assert.match(
    refusal(() => checkCachePath("/var/a..b")),
    /"\.\."/,
  );
  assert.match(
    refusal(() => checkCachePath(`/${"a".repeat(1024)}`)),
    /1025 characters/,
  );
  assert.equal(checkCachePath(`/${"a".repeat(1023)}`).length, 1024);
});

test("spellings of one cache path are one path", () => {
  for (const path of ["/x", "/x/", "//x", "/x//", "/./x", "/x/."]) {
    assert.equal(checkCachePath(path), "/x");
  }
  assert.equal(checkCachePath("/"), "/");
});
