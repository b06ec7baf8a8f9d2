/** The arithmetic of the figures in docs/scale.md. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { requestRates } from "../bench/request-rates.ts";
import type { AuditEntry } from "../testbed/audit-log.ts";

function entry(at: number, more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    verb: "patch",
    user: "agent",
    userAgent: "larder-agent/1",
    uri: "/api/v1/nodes/one",
    resource: "nodes",
    subresource: undefined,
    namespace: undefined,
    name: "one",
    status: 200,
    sourceIp: undefined,
    received: new Date(at),
    ...more,
  };
}

test("requests are counted by verb and resource, the most frequent first, after all together", () => {
  const rates = requestRates([
    entry(0, { verb: "create", resource: "events" }),
    entry(10),
    entry(20),
  ]);
  assert.deepEqual(
    rates.map(({ what, count }) => [what, count]),
    [
      ["all", 3],
      ["patch nodes", 2],
      ["create events", 1],
    ],
  );
});

test("a peak is the number of requests in one whole second", () => {
  const [all] = requestRates([entry(900), entry(1000), entry(1500), entry(1999), entry(2000)]);
  assert.equal(all?.peak, 3);
});

test("what was refused is told by status, and a watch that is still open is no refusal", () => {
  const [all] = requestRates([
    entry(0, { status: 429 }),
    entry(0, { status: 429 }),
    entry(0, { status: 403 }),
    entry(0, { status: undefined }),
  ]);
  assert.equal(all?.refused, "429: 2, 403: 1");
});

test("a span in which nothing was asked has zero in all places", () => {
  assert.deepEqual(requestRates([]), [{ what: "all", count: 0, peak: 0, refused: "" }]);
});
