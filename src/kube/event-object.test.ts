import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { eventName, eventObject, type EventInput } from "./event-object.ts";

const regarding = {
  apiVersion: "image-cache.scality.com/v1alpha1",
  kind: "ImageCache",
  name: "worker-134-0-0",
  uid: "7d0e7f4c-0000-4000-8000-000000000000",
};
const input: EventInput = {
  regarding,
  type: "Warning",
  reason: "SyncFailed",
  action: "Pull",
  note: "cannot pull it: nobody answers: start the registry",
};
const source = { component: "image-cache-agent", instance: "node-1" };
const date = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
const once = { count: 1, firstDate: date, lastDate: date };

function noteOf(note: string): string {
  return String(eventObject("name", { ...input, note }, source, once)["note"]);
}

test("an event says what, when, about what, and who says so", () => {
  assert.deepEqual(eventObject("a.1", input, source, once), {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: "a.1", namespace: "default" },
    eventTime: "2026-01-02T03:04:05.006000Z",
    reportingController: "image-cache-agent",
    reportingInstance: "node-1",
    action: "Pull",
    reason: "SyncFailed",
    regarding,
    note: "cannot pull it: nobody answers: start the registry",
    type: "Warning",
  });
});

test("an event of something that repeated has a series from the beginning", () => {
  const event = eventObject("a.1", input, source, { ...once, count: 3, lastDate: date + 1000 });
  assert.equal(event["eventTime"], "2026-01-02T03:04:05.006000Z");
  assert.deepEqual(event["series"], { count: 3, lastObservedTime: "2026-01-02T03:04:06.006000Z" });
});

test("an event about an object in a namespace stands beside it", () => {
  const there = { ...input, regarding: { ...regarding, namespace: "larder" } };
  assert.equal(eventObject("a.1", there, source, once).metadata.namespace, "larder");
});

test("a note is cut to 1024 bytes, and no character in two", () => {
  assert.equal(noteOf("a".repeat(2000)), "a".repeat(1024));
  assert.equal(noteOf(`${"a".repeat(1023)}\u00e9`), "a".repeat(1023));
  assert.equal(noteOf("\u{1f4a5}".repeat(300)), "\u{1f4a5}".repeat(256));
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 2000 }), (note) => {
      const shown = noteOf(note);
      assert.ok(Buffer.byteLength(shown) <= 1024);
      assert.ok(shown.isWellFormed());
      assert.ok(note.startsWith(shown));
      assert.ok(shown === note || Buffer.byteLength(shown) > 1020);
    }),
  );
});

test("a node's name that is longer than an event takes is cut", () => {
  const event = eventObject("a.1", input, { ...source, instance: "n".repeat(253) }, once);
  assert.equal(event["reportingInstance"], "n".repeat(128));
});

test("two events about one object in one moment have different names", () => {
  assert.notEqual(eventName(input, date, 0.25), eventName(input, date, 0.250001));
});

test("every name is one that an API server takes, however long the object's own is", () => {
  const part = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?$/);
  const name = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("."));
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(name, random, (of, chance) => {
      const made = eventName({ ...input, regarding: { ...regarding, name: of } }, date, chance);
      assert.ok(made.length <= 253);
      assert.match(made, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
    }),
  );
});
