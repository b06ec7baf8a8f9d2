import assert from "node:assert/strict";
import { test } from "node:test";

import { defaultLimits } from "./limits.ts";

test("by default: 6 tries, 3 minutes without progress, a stall after 60 s", () => {
  const { tries, withoutProgressMs, stallMs } = defaultLimits;
  assert.deepEqual(
    { tries, withoutProgressMs, stallMs },
    {
      tries: 6,
      withoutProgressMs: 3 * 60_000,
      stallMs: 60_000,
    },
  );
});

test("by default: manifests, indexes and configs to 8 MiB, tokens to 1 MiB, error bodies to 64 KiB", () => {
  const { manifestBytes, tokenBytes, errorBytes } = defaultLimits;
  assert.deepEqual(
    { manifestBytes, tokenBytes, errorBytes },
    {
      manifestBytes: 8 * 1024 * 1024,
      tokenBytes: 1024 * 1024,
      errorBytes: 64 * 1024,
    },
  );
});
