import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { cacheSpec } from "../../testbed/cache-spec.ts";
import { dueAt, nextOrphans, withSeen, type Orphan } from "./orphans.ts";

const cachePath = "/var/lib/image-cache";
const scanned = new Set([cachePath]);
const a = { cachePath, name: "a" };
const missing: Orphan = { ...a, since: 1000, seen: false };
const delays = { seenMs: 10, missingMs: 1000 };

test("a directory that nothing claims is missing from when it was first seen so", () => {
  assert.deepEqual(nextOrphans([], [a], scanned, [], 1000), [missing]);
  assert.deepEqual(nextOrphans([missing], [a], scanned, [], 2000), [missing]);
});

test("a claim ends the record, so a later loss begins anew", () => {
  const claimed = nextOrphans([missing], [a], scanned, [cacheSpec({ name: "a" })], 2000);
  assert.deepEqual(claimed, []);
  assert.deepEqual(nextOrphans(claimed, [a], scanned, [], 3000), [{ ...missing, since: 3000 }]);
});

test("a claim in another cache path is no claim of this directory", () => {
  const elsewhere = cacheSpec({ name: "a", cachePath: "/data" });
  assert.deepEqual(nextOrphans([], [a], scanned, [elsewhere], 1000), [missing]);
});

test("a deletion that was seen replaces the record of a missing one, and its time", () => {
  const seen = withSeen([missing], a, 5000);
  assert.deepEqual(nextOrphans(seen, [a], scanned, [], 6000), [{ ...a, since: 5000, seen: true }]);
});

test("a directory that is not there any more needs no record", () => {
  assert.deepEqual(nextOrphans([missing], [], scanned, [], 2000), []);
});

test("a path that cannot be looked at keeps its records, a claimed one excepted", () => {
  const seen: Orphan = { ...a, since: 1000, seen: true };
  assert.deepEqual(nextOrphans([seen], [], new Set(), [], 2000), [seen]);
  assert.deepEqual(nextOrphans([seen], [], new Set(), [cacheSpec({ name: "a" })], 2000), []);
});

test("a record from the future, which a clock set back makes, begins anew", () => {
  assert.deepEqual(nextOrphans([{ ...missing, since: 9000 }], [a], scanned, [], 2000), [
    { ...missing, since: 2000 },
  ]);
});

test("what was seen may go after the short delay, what is missing after the long one", () => {
  assert.equal(dueAt({ ...missing, seen: true }, delays), 1010);
  assert.equal(dueAt(missing, delays), 2000);
});

test("whatever happens, nothing that is claimed is an orphan, and nothing is an orphan twice", () => {
  const names = fc.constantFrom("a", "b", "c");
  const paths = fc.constantFrom("/x", "/y");
  const place = fc.record({ cachePath: paths, name: names });
  const orphan = fc.record({ cachePath: paths, name: names, since: fc.nat(), seen: fc.boolean() });
  fc.assert(
    fc.property(
      fc.uniqueArray(orphan, { selector: (o) => `${o.cachePath}/${o.name}` }),
      fc.uniqueArray(place, { selector: (p) => `${p.cachePath}/${p.name}` }),
      fc.subarray(["/x", "/y"]),
      fc.uniqueArray(place, { selector: (p) => p.name }),
      fc.nat(),
      (before, found, looked, claims, now) => {
        const there = found.filter((directory) => looked.includes(directory.cachePath));
        const after = nextOrphans(before, there, new Set(looked), claims.map(cacheSpec), now);
        const places = after.map((o) => `${o.cachePath}/${o.name}`);
        assert.equal(new Set(places).size, places.length);
        for (const { cachePath: path, name } of claims) {
          assert.ok(!places.includes(`${path}/${name}`));
        }
      },
    ),
  );
});
