import assert from "node:assert/strict";
import { test } from "node:test";

import { errorCodes, LarderError } from "../errors.ts";
import { exitCodeOf, failureOf, linesOf } from "./failure.ts";

const going = new AbortController().signal;
const stopped = AbortSignal.abort();

test("an error that nobody expected is internal, on one line, with what to do", () => {
  const failure = failureOf(new TypeError("x is not\na function"), going);
  assert.equal(failure.code, "internal");
  assert.equal(
    linesOf(failure, {}),
    "larder: unexpected error: x is not\\x0aa function: run it again with LARDER_DEBUG=1 and report what it prints\n",
  );
});

test("whatever is thrown makes an error", () => {
  for (const thrown of [undefined, null, 7, "text", {}, new Error("")]) {
    assert.equal(failureOf(thrown, going).code, "internal");
  }
});

test("an error of Larder stays what it is", () => {
  const error = new LarderError("digest", { what: "a", why: "b", todo: "c" });
  assert.equal(failureOf(error, going), error);
});

test("what breaks after a signal was interrupted", () => {
  const error = new LarderError("network", { what: "a", why: "b", todo: "c" });
  assert.equal(failureOf(error, stopped).code, "interrupted");
  assert.equal(failureOf(new Error("aborted"), stopped).code, "interrupted");
});

test("a disk that fails after a signal is told, since something may be left behind", () => {
  const error = new LarderError("disk", { what: "a", why: "b", todo: "c" });
  assert.equal(failureOf(error, stopped), error);
});

test("LARDER_DEBUG=1 adds the stack, and that of every cause", () => {
  const cause = new Error("the root of it");
  const text = linesOf(failureOf(new Error("broken", { cause }), going), { LARDER_DEBUG: "1" });
  assert.match(text, /^larder: unexpected error/);
  assert.match(text, /at .*failure\.test\.ts/);
  assert.match(text, /caused by: Error: the root of it/);
});

test("usage and bad references exit 2, every other error 1", () => {
  for (const code of errorCodes) {
    const error = new LarderError(code, { what: "a", why: "b", todo: "c" });
    assert.equal(exitCodeOf(error), code === "usage" || code === "reference" ? 2 : 1, code);
  }
});
