import assert from "node:assert/strict";
import { test } from "node:test";

import { HandClock, settled } from "../../testbed/hand-clock.ts";
import { Queue, type Again, type QueueOptions } from "./queue.ts";

/** A queue at work, with a clock that goes on by hand. */
class Bench {
  readonly clock = new HandClock();
  /** `key@milliseconds`, in the order of their beginnings. */
  readonly begun: string[] = [];
  readonly queue: Queue;
  readonly #stop = new AbortController();
  readonly #run: Promise<void>;

  constructor(
    work: (key: string, signal: AbortSignal) => Promise<Again | undefined>,
    options: Partial<QueueOptions> = {},
  ) {
    this.queue = new Queue({
      work: async (key, signal) => {
        this.begun.push(`${key}@${this.clock.monotonic()}`);
        return work(key, signal);
      },
      clock: this.clock,
      // Nothing of a delay is random.
      random: () => 1,
      ...options,
    });
    this.#run = this.queue.run(this.#stop.signal);
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#run;
    assert.equal(this.clock.sleepers, 0, "a timer was left behind");
  }

  /** Aborts, without waiting. */
  abort(): { over: boolean } {
    const state = { over: false };
    this.#stop.abort();
    void this.#run.then(() => {
      state.over = true;
    });
    return state;
  }
}

const nothing = async (): Promise<undefined> => {};

test("a key that is added several times is worked on once", async () => {
  const bench = new Bench(nothing);
  for (const key of ["a", "b", "a", "a", "b"]) bench.queue.add(key);
  await settled();
  assert.deepEqual(bench.begun, ["a@0", "b@0"]);
  await bench.end();
});

test("the earliest of several times holds", async () => {
  const bench = new Bench(nothing);
  for (const afterMs of [500, 200, 900]) bench.queue.add("a", afterMs);
  await bench.clock.pass(2_000);
  assert.deepEqual(bench.begun, ["a@200"]);
  bench.queue.add("a", 500);
  bench.queue.add("a");
  await bench.clock.pass(2_000);
  assert.deepEqual(bench.begun, ["a@200", "a@2000"]);
  await bench.end();
});

test("keys are worked on in the order in which they are due", async () => {
  const bench = new Bench(async (_key, signal) => {
    await bench.clock.sleep(100, signal);
    return undefined;
  });
  bench.queue.add("first");
  await settled();
  bench.queue.add("late", 30);
  bench.queue.add("early", 10);
  bench.queue.add("now");
  await bench.clock.pass(1_000);
  assert.deepEqual(bench.begun, ["first@0", "now@100", "early@200", "late@300"]);
  await bench.end();
});

test("a key that is added while it is at work has its turn again afterwards", async () => {
  const works = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  let turn = 0;
  const bench = new Bench(async () => works[turn++]?.promise, { concurrency: 4 });
  bench.queue.add("a");
  await settled();
  bench.queue.add("a");
  bench.queue.add("a");
  await settled();
  assert.deepEqual(bench.begun, ["a@0"]);
  works[0]?.resolve(undefined);
  await settled();
  assert.deepEqual(bench.begun, ["a@0", "a@0"]);
  works[1]?.resolve(undefined);
  await bench.clock.pass(1_000);
  assert.equal(bench.begun.length, 2);
  await bench.end();
});

test("a key that fails comes back ever later, up to five minutes, and a success sets that back", async () => {
  let failing = true;
  const told: number[] = [];
  const bench = new Bench(
    async () => {
      if (failing) throw new Error("not today");
      return undefined;
    },
    { onError: (_key, _error, delayMs) => told.push(delayMs) },
  );
  bench.queue.add("a");
  await bench.clock.pass(1_100_000);
  const delays = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1_000);
  assert.deepEqual(told, delays);
  failing = false;
  await bench.clock.pass(300_000);
  failing = true;
  told.length = 0;
  bench.queue.add("a");
  await settled();
  assert.deepEqual(told, [1_000]);
  await bench.end();
});

test("what one key's failures delay is that key alone", async () => {
  const bench = new Bench(async (key) => {
    if (key === "bad") throw new Error("not today");
    return undefined;
  });
  bench.queue.add("bad");
  bench.queue.add("good");
  await settled();
  await bench.clock.pass(500);
  bench.queue.add("good");
  await settled();
  assert.deepEqual(bench.begun, ["bad@0", "good@0", "good@500"]);
  await bench.end();
});

test("a failed key that is added is tried at once, and its delays go on growing", async () => {
  const told: number[] = [];
  const bench = new Bench(
    async () => {
      throw new Error("not today");
    },
    { onError: (_key, _error, delayMs) => told.push(delayMs) },
  );
  for (const _ of "123") {
    bench.queue.add("a");
    await settled();
  }
  assert.deepEqual(bench.begun, ["a@0", "a@0", "a@0"]);
  assert.deepEqual(told, [1_000, 2_000, 4_000]);
  await bench.clock.pass(4_000);
  assert.deepEqual(bench.begun.slice(3), ["a@4000"]);
  await bench.end();
});

test("a work says when its key is to be looked at again", async () => {
  const bench = new Bench(async () => ({ againMs: 60_000 }));
  bench.queue.add("a");
  await bench.clock.pass(150_000);
  assert.deepEqual(bench.begun, ["a@0", "a@60000", "a@120000"]);
  await bench.end();
});

test("no more keys are at work at one time than were asked for", async () => {
  let now = 0;
  let most = 0;
  const bench = new Bench(
    async (_key, signal) => {
      most = Math.max(most, ++now);
      await bench.clock.sleep(10, signal);
      now -= 1;
      return undefined;
    },
    { concurrency: 3 },
  );
  for (const key of "abcdefgh") bench.queue.add(key);
  await bench.clock.pass(1_000);
  assert.equal(most, 3);
  assert.equal(bench.begun.length, 8);
  await bench.end();
});

test("an abort begins nothing new, and run ends when the work in progress has ended", async () => {
  const work = Promise.withResolvers<undefined>();
  const bench = new Bench(async () => work.promise);
  bench.queue.add("a");
  bench.queue.add("b");
  bench.queue.add("c", 10);
  await settled();
  const run = bench.abort();
  await bench.clock.pass(1_000);
  assert.equal(run.over, false);
  work.resolve(undefined);
  await settled();
  assert.equal(run.over, true);
  assert.deepEqual(bench.begun, ["a@0"]);
  assert.equal(bench.clock.sleepers, 0);
});

test("a work that an abort makes fail is no failure, and its key is not lost", async () => {
  const errors: unknown[] = [];
  const clock = new HandClock();
  let done = 0;
  const queue = new Queue({
    work: async (_key, signal) => {
      await clock.sleep(100, signal);
      done += 1;
    },
    clock,
    onError: (_key, error) => errors.push(error),
  });
  const stop = new AbortController();
  queue.add("a");
  const first = queue.run(stop.signal);
  await settled();
  stop.abort(new Error("stop"));
  await first;
  const again = new AbortController();
  const second = queue.run(again.signal);
  await clock.pass(100);
  again.abort();
  await second;
  assert.deepEqual(errors, []);
  assert.equal(done, 1);
});

test("what was added before run is worked on", async () => {
  const clock = new HandClock();
  const begun: string[] = [];
  const queue = new Queue({
    work: async (key) => {
      begun.push(key);
    },
    clock,
  });
  queue.add("now");
  queue.add("later", 50);
  await clock.pass(100);
  assert.deepEqual(begun, []);
  const stop = new AbortController();
  const run = queue.run(stop.signal);
  await settled();
  assert.deepEqual(begun, ["now", "later"]);
  stop.abort();
  await run;
});
