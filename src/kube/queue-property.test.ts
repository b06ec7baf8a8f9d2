import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { HandClock } from "../../testbed/hand-clock.ts";
import { Queue } from "./queue.ts";

interface Add {
  /** Milliseconds since the add before. */
  readonly pauseMs: number;
  readonly key: string;
  readonly afterMs: number;
}

/** How the works of all keys go, one after the other. */
interface Fate {
  readonly lastsMs: number;
  readonly fails: boolean;
  readonly againMs: number | undefined;
}

interface Work {
  readonly key: string;
  readonly from: number;
  to: number;
}

const keys = ["a", "b", "c"];
const add: fc.Arbitrary<Add> = fc.record({
  pauseMs: fc.constantFrom(0, 0, 1, 5, 40),
  key: fc.constantFrom(...keys),
  afterMs: fc.constantFrom(0, 0, 0, 1, 7, 30),
});
const fate: fc.Arbitrary<Fate> = fc.record({
  lastsMs: fc.constantFrom(0, 1, 10, 50),
  fails: fc.boolean(),
  againMs: fc.constantFrom(undefined, undefined, 0, 3, 60),
});
const plan = fc.record({
  adds: fc.array(add, { minLength: 1, maxLength: 25 }),
  fates: fc.array(fate, { maxLength: 25 }),
  concurrency: fc.integer({ min: 1, max: 3 }),
});
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

/** Everything that was at work, and when each add came and was due. */
async function play({ adds, fates, concurrency }: Plan) {
  const clock = new HandClock();
  const works: Work[] = [];
  const wanted: { readonly key: string; readonly from: number; readonly due: number }[] = [];
  const next = fates.values();
  const queue = new Queue({
    work: async (key, signal) => {
      const work = { key, from: clock.monotonic(), to: Infinity };
      works.push(work);
      const { lastsMs = 0, fails = false, againMs } = next.next().value ?? {};
      try {
        if (lastsMs > 0) await clock.sleep(lastsMs, signal);
        if (fails) throw new Error("not today");
        return againMs === undefined ? {} : { againMs };
      } finally {
        work.to = clock.monotonic();
        if (fails) wanted.push({ key, from: work.to, due: work.to + 80 });
        else if (againMs !== undefined) wanted.push({ key, from: work.to, due: work.to + againMs });
      }
    },
    concurrency,
    backoff: { firstMs: 10, maxMs: 80 },
    clock,
    random: () => 0.5,
  });
  const stop = new AbortController();
  const run = queue.run(stop.signal);
  for (const { pauseMs, key, afterMs } of adds) {
    if (pauseMs > 0) await clock.pass(pauseMs);
    wanted.push({ key, from: clock.monotonic(), due: clock.monotonic() + afterMs });
    queue.add(key, afterMs);
  }
  await clock.pass(10_000);
  stop.abort();
  await run;
  return { works, wanted, sleepers: clock.sleepers };
}

test("no add, no failed key and no request to look again is ever lost", async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (given) => {
      const { works, wanted, sleepers } = await play(given);
      for (const { key, from, due } of wanted) {
        const served = works.find((work) => work.key === key && work.from >= from);
        assert.ok(served !== undefined, `${key}, wanted at ${from}, was never worked on`);
        if (given.concurrency < keys.length || served.from <= due) continue;
        // With room for every key, only the key's own work can hold it up.
        const before = works.some((work) => work.key === key && work.to === served.from);
        assert.ok(before, `${key}, due at ${due}, was worked on at ${served.from} only`);
      }
      assert.equal(sleepers, 0);
    }),
    { numRuns: 150 },
  );
});

test("no key is ever at work twice at one time, and no more keys than allowed are", async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (given) => {
      const { works } = await play(given);
      for (const [index, work] of works.entries()) {
        const atOnce = works.slice(0, index).filter((other) => other.to > work.from);
        assert.ok(atOnce.length < given.concurrency);
        assert.ok(!atOnce.some((other) => other.key === work.key), `${work.key} twice at once`);
      }
    }),
    { numRuns: 150 },
  );
});

test("a key is worked on no more often than it was wanted", async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (given) => {
      const { works, wanted } = await play(given);
      for (const key of keys) {
        const count = (list: readonly { readonly key: string }[]) =>
          list.filter((each) => each.key === key).length;
        assert.ok(count(works) <= count(wanted), key);
      }
    }),
    { numRuns: 100 },
  );
});
