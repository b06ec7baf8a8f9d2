import assert from "node:assert/strict";
import { test } from "node:test";

import { cacheSpec } from "../../testbed/cache-spec.ts";
import { digestOf } from "../registry/digest.ts";
import type { Look } from "./look.ts";
import { plan, type Facts } from "./plan.ts";

const cachePath = "/var/lib/image-cache";
const digest = digestOf(Buffer.from("manifest"));
const a = cacheSpec({ name: "a" });
const b = cacheSpec({ name: "b" });

function complete(owner?: string): Look {
  return {
    kind: "complete",
    sentinel: { digest, files: ["a.tar"], ...(owner === undefined ? {} : { owner }) },
  };
}

function planned(facts: Partial<Facts>) {
  return plan({
    desired: [],
    looks: new Map(),
    damaged: new Map(),
    moved: new Set(),
    found: [],
    scanned: new Set([cachePath]),
    orphans: [],
    mayCollect: true,
    delays: { seenMs: 10_000, missingMs: 1_000_000 },
    date: 5_000_000,
    ...facts,
  });
}

test("complete is synced, everything else is pending and to be pulled", () => {
  const kinds = ["absent", "incomplete", "stale", "foreign", "failed"] as const;
  for (const kind of kinds) {
    const looks = new Map<string, Look>([
      ["a", complete("image-cache-agent")],
      ["b", { kind, why: "of a reason" }],
    ]);
    const { labels, pulls } = planned({ desired: [a, b], looks });
    assert.deepEqual(
      [...labels],
      [
        ["a", "synced"],
        ["b", "pending"],
      ],
    );
    assert.deepEqual(pulls, [{ cache: b, force: false, because: `${kind}: of a reason` }]);
  }
});

test("a damaged file makes a directory that looks complete pending, and it is filled anew", () => {
  const looks = new Map([["a", complete("image-cache-agent")]]);
  const damaged = new Map([[`${cachePath}/a`, '"a.tar" should be 1 and is 2']]);
  const { labels, pulls } = planned({ desired: [a], looks, damaged });
  assert.equal(labels.get("a"), "pending");
  assert.deepEqual(pulls, [{ cache: a, force: true, because: '"a.tar" should be 1 and is 2' }]);
});

test("a moved tag makes a directory that looks complete pending, and it is filled anew", () => {
  const looks = new Map([["a", complete("image-cache-agent")]]);
  const { labels, pulls } = planned({ desired: [a], looks, moved: new Set([`${cachePath}/a`]) });
  assert.equal(labels.get("a"), "pending");
  assert.equal(pulls[0]?.force, true);
});

test("a directory that the command line filled is adopted when a resource claims it", () => {
  const looks = new Map([
    ["a", complete("imagecachectl")],
    ["b", complete("image-cache-agent")],
  ]);
  assert.deepEqual(planned({ desired: [a, b], looks }).adopt, [a]);
});

test("an orphan goes when its delay is over, and the next pass is due with the next orphan", () => {
  const found = ["x", "y", "z"].map((name) => ({ cachePath, name }));
  const { due, nextDueMs } = planned({
    found,
    orphans: [
      { cachePath, name: "x", since: 4_990_000, seen: true },
      { cachePath, name: "y", since: 4_991_000, seen: true },
      { cachePath, name: "z", since: 4_500_000, seen: false },
    ],
  });
  assert.deepEqual(
    due.map(({ name }) => name),
    ["x"],
  );
  assert.equal(nextDueMs, 1000);
});

test("an orphan that is due is looked at again soon: a run may hold it that is being cancelled", () => {
  const found = [{ cachePath, name: "x" }];
  const orphans = [{ cachePath, name: "x", since: 4_000_000, seen: true }];
  assert.equal(planned({ found, orphans }).nextDueMs, 10_000);
});

test("while the API server is away nothing is collected, and no time begins to run", () => {
  const orphans = [{ cachePath, name: "x", since: 0, seen: true }];
  const found = ["x", "new"].map((name) => ({ cachePath, name }));
  const { due, orphans: after, nextDueMs } = planned({ mayCollect: false, found, orphans });
  assert.deepEqual([due, after, nextDueMs], [[], orphans, undefined]);
});
