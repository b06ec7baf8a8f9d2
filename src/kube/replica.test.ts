import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import type { KubeObject } from "./object.ts";
import { Replica, type Change, type Entry } from "./replica.ts";

interface Made {
  readonly name: string;
  readonly uid: string;
  readonly version: number;
}

function object({ name, uid, version }: Made): KubeObject {
  return { metadata: { name, uid, resourceVersion: String(version) } };
}

/** Counts what it parses; version 0 is left out. */
function replica() {
  const parsed: string[] = [];
  const made = new Replica<string>({
    nameOf: ({ metadata }) => metadata.name,
    parse: ({ metadata }) => {
      const text = `${metadata.name}/${metadata.uid}/${metadata.resourceVersion}`;
      parsed.push(text);
      return metadata.resourceVersion === "0" ? undefined : text;
    },
  });
  return { made, parsed };
}

function list(made: Replica<string>, objects: readonly Made[]): Change<string>[] {
  const entries = new Map<string, Entry<string>>();
  for (const each of objects) made.collect(entries, object(each));
  return made.replace(entries);
}

function fold(known: Map<string, string>, changes: readonly Change<string>[]): void {
  for (const change of changes) {
    const { kind, name } = change;
    assert.equal(known.get(name), kind === "added" ? undefined : change.before);
    if (kind === "deleted") known.delete(name);
    else known.set(name, change.now);
  }
}

const anObject: fc.Arbitrary<Made> = fc.record({
  name: fc.constantFrom("a", "b", "c"),
  uid: fc.constantFrom("1", "2"),
  version: fc.nat({ max: 3 }),
});

test("every change follows from the ones before, and together they are what is known", () => {
  const step = fc.oneof(
    fc.record({ is: fc.constant("list" as const), objects: fc.array(anObject) }),
    fc.record({ is: fc.constantFrom("put" as const, "remove" as const), one: anObject }),
  );
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const { made } = replica();
      const known = new Map<string, string>();
      for (const each of steps) {
        const changes =
          each.is === "list" ? list(made, each.objects) : made[each.is](object(each.one));
        fold(known, changes);
        assert.ok(changes.every(({ live }) => each.is !== "list" || !live));
        assert.deepEqual([...known.values()].sort(), [...made.values()].sort());
        assert.equal(made.size, known.size);
      }
    }),
  );
});

test("an unchanged object is no change and is not parsed again, by list or event", () => {
  const { made, parsed } = replica();
  const a = { name: "a", uid: "1", version: 1 };
  const out = { name: "out", uid: "1", version: 0 };
  assert.equal(list(made, [a, out]).length, 1);
  assert.deepEqual(list(made, [a, out]), []);
  assert.deepEqual(made.put(object(a)), []);
  assert.deepEqual(parsed, ["a/1/1", "out/1/0"]);
});

test("the same name with another uid is a deletion and an addition", () => {
  const { made } = replica();
  list(made, [{ name: "a", uid: "1", version: 1 }]);
  const found = list(made, [{ name: "a", uid: "2", version: 1 }]);
  assert.deepEqual(found, [
    { kind: "deleted", name: "a", before: "a/1/1", live: false },
    { kind: "added", name: "a", now: "a/2/1", live: false },
  ]);
  const said = made.put(object({ name: "a", uid: "3", version: 1 }));
  assert.deepEqual(
    said.map(({ kind, live }) => ({ kind, live })),
    [
      { kind: "deleted", live: true },
      { kind: "added", live: true },
    ],
  );
});

test("what is left out from now on was not seen to be deleted", () => {
  const { made } = replica();
  list(made, [{ name: "a", uid: "1", version: 1 }]);
  const changes = made.put(object({ name: "a", uid: "1", version: 0 }));
  assert.deepEqual(changes, [{ kind: "deleted", name: "a", before: "a/1/1", live: false }]);
  assert.deepEqual(made.remove(object({ name: "a", uid: "1", version: 3 })), []);
});
