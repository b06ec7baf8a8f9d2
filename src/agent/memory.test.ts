import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { cacheSpec } from "../../testbed/cache-spec.ts";
import { formatMemory, nothingKnown, parseMemory, type Memory } from "./memory.ts";

const memory: Memory = {
  paths: ["/data", "/var/lib/image-cache"],
  desired: [cacheSpec({ name: "a", nodeSelector: { zone: "x" } }), cacheSpec({ name: "b" })],
  orphans: [
    { cachePath: "/data", name: "c", since: Date.UTC(2026, 0, 1), seen: true },
    { cachePath: "/data", name: "d", since: Date.UTC(2026, 0, 2), seen: false },
  ],
};

function changed(change: Record<string, unknown>): Buffer {
  const object: unknown = JSON.parse(formatMemory(memory));
  return Buffer.from(JSON.stringify({ ...(typeof object === "object" ? object : {}), ...change }));
}

test("what is remembered comes back", () => {
  assert.deepEqual(parseMemory(Buffer.from(formatMemory(memory))), memory);
});

test("a memory of a newer version, or of none, is no memory", () => {
  assert.deepEqual(parseMemory(changed({ version: 2 })), nothingKnown);
  assert.deepEqual(parseMemory(changed({ version: undefined })), nothingKnown);
});

test("a memory that was cut anywhere is no memory", () => {
  const bytes = Buffer.from(formatMemory(memory).trimEnd());
  for (let length = 0; length < bytes.length; length++) {
    assert.deepEqual(parseMemory(bytes.subarray(0, length)), nothingKnown);
  }
});

test("entries that make no sense are left out, and the others stay", () => {
  const read = parseMemory(
    changed({
      paths: ["/data", "relative", 7, "/x/../y"],
      desired: [{ name: "UPPER", uid: "", source: "x" }, ...memory.desired],
      orphans: [{ ...memory.orphans[0], since: "never" }, { cachePath: "/data" }],
    }),
  );
  assert.deepEqual(read, { paths: ["/data"], desired: memory.desired, orphans: [] });
});

test("whatever bytes there are, reading them does not fail", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        fc.json().map((text) => Buffer.from(text)),
      ),
      (bytes) => {
        parseMemory(Buffer.from(bytes));
      },
    ),
  );
});
