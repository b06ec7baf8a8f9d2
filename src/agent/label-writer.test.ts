import assert from "node:assert/strict";
import { test } from "node:test";

import { settled } from "../../testbed/hand-clock.ts";
import type { NodeFacts } from "./cache-spec.ts";
import { LabelWriter } from "./label-writer.ts";
import type { LabelPatch, Sync } from "./labels.ts";

const prefix = "image-cache.scality.com/";
const signal = new AbortController().signal;
const synced: ReadonlyMap<string, Sync> = new Map([["a", "synced"]]);

function node(labels: Record<string, string>, resourceVersion = "10"): NodeFacts {
  return { name: "n", uid: "u", resourceVersion, labels };
}

/** A writer whose requests are answered in turn. */
function writing(...answers: readonly (NodeFacts | Error | undefined)[]) {
  const patches: LabelPatch[] = [];
  const writer = new LabelWriter({
    prefix,
    patch: async (patch) => {
      const answer = answers[patches.push(patch) - 1];
      await settled();
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  return { writer, patches };
}

test("labels that are as wanted cost no request, whoever wrote them", async () => {
  const { writer, patches } = writing();
  await writer.write(node({ [`${prefix}a`]: "synced", other: "x" }), synced, signal);
  assert.deepEqual(patches, []);
});

test("a request that failed is made again by the next write, and by none but that", async () => {
  const { writer, patches } = writing(new Error("no"), node({ [`${prefix}a`]: "synced" }, "11"));
  await assert.rejects(writer.write(node({}), synced, signal), /no/);
  await settled();
  assert.equal(patches.length, 1);
  await writer.write(node({}), synced, signal);
  assert.deepEqual(patches, [{ [`${prefix}a`]: "synced" }, { [`${prefix}a`]: "synced" }]);
});

test("a wish during a request that fails is not lost: it is told, and the next write is of the newest", async () => {
  const { writer, patches } = writing(new Error("no"), node({}, "11"));
  const both = [synced, new Map<string, Sync>([["b", "pending"]])].map(async (want) =>
    writer.write(node({}), want, signal),
  );
  const ends = await Promise.allSettled(both);
  assert.deepEqual(
    ends.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  await writer.write(node({}), new Map([["c", "pending"]]), signal);
  assert.deepEqual(patches.at(-1), { [`${prefix}c`]: "pending" });
});

test("an answer that is older than what the watch tells does not count", async () => {
  const { writer, patches } = writing(node({}, "9"), node({ [`${prefix}a`]: "synced" }, "12"));
  await writer.write(node({}, "8"), synced, signal);
  await writer.write(node({ [`${prefix}a`]: "synced" }, "10"), synced, signal);
  assert.equal(patches.length, 1);
});

test("versions are compared as numbers of any length, and what is none is taken for newer", async () => {
  const long = "9".repeat(30);
  const has = node({ [`${prefix}a`]: "synced" }, `1${long}`);
  const { writer, patches } = writing(has, has);
  await writer.write(node({}, long), synced, signal);
  await writer.write(node({}, long), synced, signal);
  assert.equal(patches.length, 1);
  await writer.write(node({}, "v2"), synced, signal);
  assert.equal(patches.length, 2);
});

test("what a deleted node was given is forgotten with it", async () => {
  const { writer, patches } = writing(undefined, node({ [`${prefix}a`]: "synced" }, "12"));
  await writer.write(node({}), synced, signal);
  await writer.write(node({}), synced, signal);
  assert.equal(patches.length, 2);
});

test("in a cluster that was restored from a backup, what was written before is written again", async () => {
  const has = node({ [`${prefix}a`]: "synced" }, "100");
  const { writer, patches } = writing(has, has);
  await writer.write(node({}, "90"), synced, signal);
  writer.forget();
  await writer.write(node({}, "50"), synced, signal);
  assert.equal(patches.length, 2);
});
