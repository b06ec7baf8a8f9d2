import assert from "node:assert/strict";

import { LarderError, type ErrorCode } from "../src/errors.ts";

/** For `assert.throws` and `assert.rejects`: a LarderError of that code, or one of them, and message. */
export function refusal(code: ErrorCode | readonly ErrorCode[], pattern: RegExp) {
  return (error: unknown): true => {
    assert.ok(error instanceof LarderError, String(error));
    assert.ok([code].flat().includes(error.code), `${error.code}: ${error.message}`);
    assert.match(error.message, pattern);
    return true;
  };
}
