import assert from "node:assert/strict";
import { test } from "node:test";

import { HandClock, settled } from "../../testbed/hand-clock.ts";
import { ApiError } from "../kube/api-error.ts";
import type { NodeFacts } from "./cache-spec.ts";
import { LabelKeeper } from "./label-keeper.ts";
import type { LabelPatch, Sync } from "./labels.ts";

const prefix = "image-cache.scality.com/";
const signal = new AbortController().signal;

function node(labels: Record<string, string>, resourceVersion = "10"): NodeFacts {
  return { name: "n", uid: "u", resourceVersion, labels };
}

function wish(...names: readonly string[]): ReadonlyMap<string, Sync> {
  return new Map(names.map((name) => [name, "pending"]));
}

/** A keeper whose requests are answered when the test says so. */
function keeping() {
  const clock = new HandClock();
  const patches: LabelPatch[] = [];
  const open: ((answer: NodeFacts | Error | undefined) => void)[] = [];
  const again: number[] = [];
  const told: string[] = [];
  const log = { info: (text: string) => told.push(text), warn: (text: string) => told.push(text) };
  const keeper = new LabelKeeper({
    prefix,
    patch: async (labels) => {
      patches.push(labels);
      const { promise, resolve, reject } = Promise.withResolvers<NodeFacts | undefined>();
      open.push((answer) => {
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      });
      return promise;
    },
    again: (afterMs) => again.push(afterMs),
    log,
    clock,
    random: () => 0,
  });
  const answer = async (with_: NodeFacts | Error | undefined): Promise<void> => {
    const next = open.shift();
    assert.ok(next, "a request is under way");
    next(with_);
    await settled();
  };
  return { keeper, clock, patches, answer, again, told };
}

test("a pass waits until the labels are on the node", async () => {
  const { keeper, answer } = keeping();
  let done = false;
  const kept = keeper.keep(node({}), wish("a"), signal).then(() => {
    done = true;
  });
  await settled();
  assert.equal(done, false);
  await answer(node({ [`${prefix}a`]: "pending" }, "11"));
  await kept;
});

test("no second request is made before the watch has told of the first", async () => {
  const { keeper, answer, patches } = keeping();
  const kept = keeper.keep(node({}), wish("a"), signal);
  await answer(node({ [`${prefix}a`]: "pending" }, "11"));
  await kept;
  await keeper.keep(node({}), wish("a"), signal);
  assert.equal(patches.length, 1);
});

test("what the watch tells counts when it is newer, and for a node that was made again", async () => {
  const { keeper, answer, patches } = keeping();
  const first = keeper.keep(node({}), wish("a"), signal);
  await answer(node({ [`${prefix}a`]: "pending" }, "11"));
  await first;
  const second = keeper.keep(node({}, "12"), wish("a"), signal);
  await answer(node({ [`${prefix}a`]: "pending" }, "13"));
  await second;
  const third = keeper.keep({ ...node({}, "5"), uid: "other" }, wish("a"), signal);
  await answer(node({ [`${prefix}a`]: "pending" }, "14"));
  await third;
  assert.equal(patches.length, 3);
});

test("what is wished while a request is under way is one request more, of the newest wish", async () => {
  const { keeper, answer, patches } = keeping();
  const kept = [wish("a"), wish("a", "b"), wish("c")].map(async (want) =>
    keeper.keep(node({}), want, signal),
  );
  await answer(node({ [`${prefix}a`]: "pending" }, "11"));
  await answer(node({ [`${prefix}c`]: "pending" }, "12"));
  await Promise.all(kept);
  assert.deepEqual(patches, [
    { [`${prefix}a`]: "pending" },
    { [`${prefix}a`]: null, [`${prefix}c`]: "pending" },
  ]);
});

test("an API server that does not answer holds a pass up once, for five seconds", async () => {
  const { keeper, clock, answer } = keeping();
  let done = 0;
  const count = (): void => {
    done += 1;
  };
  void keeper.keep(node({}), wish("a"), signal).then(count);
  await clock.pass(4999);
  assert.equal(done, 0);
  await clock.pass(1);
  assert.equal(done, 1);
  void keeper.keep(node({}), wish("a"), signal).then(count);
  await settled();
  assert.equal(done, 2);
  await answer(node({ [`${prefix}a`]: "pending" }, "11"));
  void keeper.keep(node({}, "12"), wish("b"), signal).then(count);
  await settled();
  assert.equal(done, 2);
});

test("what fails is told once and asked for again, later and later", async () => {
  const { keeper, clock, answer, again, told } = keeping();
  for (let round = 0; round < 9; round++) {
    void keeper.keep(node({}), wish("a"), signal);
    await answer(new Error("no"));
    await clock.pass(again.at(-1) ?? 0);
  }
  assert.deepEqual(again.slice(0, 4), [500, 1000, 2000, 4000]);
  assert.equal(again.at(-1), 30_000);
  void keeper.keep(node({}), wish("a"), signal);
  await answer(node({ [`${prefix}a`]: "pending" }, "11"));
  assert.deepEqual(told, ["cannot write the node's labels", "the node's labels are written again"]);
});

test("passes before it is time again ask for nothing, but for a pass when it is", async () => {
  const { keeper, clock, answer, again, patches } = keeping();
  void keeper.keep(node({}), wish("a"), signal);
  await answer(new Error("no"));
  await clock.pass(200);
  await keeper.keep(node({}), wish("b"), signal);
  assert.equal(patches.length, 1);
  assert.deepEqual(again, [500, 300]);
  keeper.hurry();
  void keeper.keep(node({}), wish("b"), signal);
  await settled();
  assert.equal(patches.length, 2);
});

test("a request that several passes wait for is one failure", async () => {
  const { keeper, answer, again } = keeping();
  for (let pass = 0; pass < 5; pass++) void keeper.keep(node({}), wish("a"), signal);
  await answer(new Error("no"));
  assert.deepEqual(again, [500]);
});

test("an API server that says when to come back is taken at its word", async () => {
  const { keeper, answer, again } = keeping();
  const parts = { what: "cannot patch", why: "too many", todo: "wait" };
  void keeper.keep(node({}), wish("a"), signal);
  await answer(new ApiError({ ...parts, status: 429, retryAfterMs: 7000, retryable: true }));
  assert.deepEqual(again, [7000]);
});

test("a node that is gone is no failure", async () => {
  const { keeper, answer, again } = keeping();
  const kept = keeper.keep(node({}), wish("a"), signal);
  await answer(undefined);
  await kept;
  await keeper.keep(undefined, wish("a"), signal);
  assert.deepEqual(again, []);
});

test("once the API server was heard of again, only what it says then counts", async () => {
  const { keeper, answer, patches } = keeping();
  const kept = keeper.keep(node({}, "90"), wish("a"), signal);
  await answer(node({ [`${prefix}a`]: "pending" }, "100"));
  await kept;
  keeper.hurry();
  const again = keeper.keep(node({}, "50"), wish("a"), signal);
  await answer(node({ [`${prefix}a`]: "pending" }, "51"));
  await again;
  assert.equal(patches.length, 2);
});
