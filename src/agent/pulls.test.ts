import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { cacheSpec } from "../../testbed/cache-spec.ts";
import { HandClock, settled } from "../../testbed/hand-clock.ts";
import { Pulls, type Job } from "./pulls.ts";

const minute = 60_000;

function job(name: string, given: Partial<Job> = {}): Job {
  return { cache: cacheSpec({ name }), force: false, because: "absent", notBefore: 0, ...given };
}

interface Running {
  readonly job: Job;
  readonly signal: AbortSignal;
  readonly alive: () => void;
  end(error?: Error): void;
}

/** Pulls whose work ends when the test says so. */
function pulling(atOnce = 2) {
  const clock = new HandClock();
  const running: Running[] = [];
  const ended: string[] = [];
  let started = 0;
  const pulls = new Pulls({
    atOnce,
    clock,
    random: () => 0,
    pull: async (of, signal, alive) => {
      started += 1;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const entry: Running = {
        job: of,
        signal,
        alive,
        end: (error) => {
          running.splice(running.indexOf(entry), 1);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      running.push(entry);
      signal.addEventListener("abort", () => {
        entry.end(new Error("aborted"));
      });
      await promise;
    },
    onEnd: ({ cache }, error) => {
      ended.push(error === undefined ? cache.name : `${cache.name} failed`);
    },
  });
  const names = (): readonly string[] => running.map(({ job: of }) => of.cache.name);
  const of = (name: string): Running => {
    const found = running.find((entry) => entry.job.cache.name === name);
    assert.ok(found, `${name} runs`);
    return found;
  };
  return { pulls, clock, names, of, ended, started: () => started };
}

test("so many pulls run at a time, and the next starts when one ends", async () => {
  const { pulls, names, of, ended } = pulling();
  pulls.want([job("a"), job("b"), job("c")]);
  assert.deepEqual(names(), ["a", "b"]);
  of("a").end();
  await settled();
  assert.deepEqual([names(), ended], [["b", "c"], ["a"]]);
});

test("a pull that goes on is left alone when it is wanted again", async () => {
  const { pulls, names, started } = pulling();
  pulls.want([job("a")]);
  pulls.want([job("a", { because: "incomplete: it is being filled" })]);
  await settled();
  assert.deepEqual([names(), started()], [["a"], 1]);
});

test("a pull that nothing wants any more is cancelled, and nobody is told of a failure", async () => {
  const { pulls, names, ended } = pulling();
  pulls.want([job("a"), job("b")]);
  pulls.want([job("b")]);
  await settled();
  assert.deepEqual([names(), ended], [["b"], []]);
});

test("another source cancels the pull, and the new one starts when the old one has ended", async () => {
  const { pulls, of, names } = pulling();
  pulls.want([job("a")]);
  const cache = cacheSpec({ name: "a", source: "registry.example.com/other:2" });
  pulls.want([job("a", { cache })]);
  await settled();
  assert.deepEqual(names(), ["a"]);
  assert.equal(of("a").job.cache.source, "registry.example.com/other:2");
});

test("a failed pull is tried again after delays that double, up to five minutes", async () => {
  const { pulls, clock, of, started } = pulling();
  pulls.want([job("a")]);
  for (const delay of [500, 1000, 2000, 4000]) {
    of("a").end(new Error("no"));
    const before = started();
    await clock.pass(delay - 1);
    assert.equal(started(), before);
    await clock.pass(1);
    assert.equal(started(), before + 1);
  }
  for (let round = 0; round < 10; round++) {
    of("a").end(new Error("no"));
    await clock.pass(5 * minute);
  }
  const before = started();
  of("a").end(new Error("no"));
  await clock.pass(2.5 * minute);
  assert.equal(started(), before + 1);
});

test("a failure counts no more once something else is seen on the disk", async () => {
  const { pulls, of, started } = pulling();
  pulls.want([job("a", { because: "foreign: a file" })]);
  of("a").end(new Error("foreign"));
  await settled();
  pulls.want([job("a", { because: "foreign: a file" })]);
  assert.equal(started(), 1);
  pulls.want([job("a", { because: "absent" })]);
  assert.equal(started(), 2);
});

test("what failed before waits behind what has not been tried", async () => {
  const { pulls, clock, of, names } = pulling(1);
  pulls.want([job("bad"), job("good")]);
  of("bad").end(new Error("no"));
  await clock.pass(4000);
  assert.deepEqual(names(), ["good"]);
});

test("a pull that receives nothing makes room for another, one that gets on does not", async () => {
  const { pulls, clock, of, names } = pulling(1);
  pulls.want([job("stalled"), job("next"), job("last")]);
  await clock.pass(4000);
  of("stalled").alive();
  await clock.pass(4000);
  assert.deepEqual(names(), ["stalled"]);
  await clock.pass(2000);
  assert.deepEqual(names(), ["stalled", "next"]);
  of("next").alive();
  await clock.pass(2000);
  assert.deepEqual(names(), ["stalled", "next"]);
});

test("however many are stalled, the number of pulls is bounded", async () => {
  const { pulls, clock, names } = pulling(1);
  pulls.want(["a", "b", "c", "d", "e", "f"].map((name) => job(name)));
  await clock.pass(minute);
  assert.deepEqual(names(), ["a", "b", "c", "d"]);
});

test("a look at the disk from before a pull ended does not begin it again", async () => {
  const { pulls, names, of, clock } = pulling();
  const lookedAt = clock.monotonic();
  pulls.want([job("a")], lookedAt);
  of("a").end();
  await settled();
  pulls.want([job("a"), job("b")], lookedAt);
  assert.deepEqual(names(), ["b"]);
  await clock.pass(1);
  pulls.want([job("a"), job("b")], clock.monotonic());
  assert.deepEqual(names(), ["b", "a"]);
});

test("a pull waits for its time", async () => {
  const { pulls, clock, names } = pulling();
  pulls.want([job("a", { notBefore: 5000 })]);
  await clock.pass(4999);
  assert.deepEqual(names(), []);
  await clock.pass(1);
  assert.deepEqual(names(), ["a"]);
});

test("the first repairs come at once; who destroys it again and again is not raced", async () => {
  const { pulls, clock, of, names } = pulling();
  const gaps: number[] = [];
  for (let round = 0; round < 12; round++) {
    pulls.want([job("a")]);
    const from = clock.monotonic();
    while (names().length === 0) await clock.pass(100);
    gaps.push(clock.monotonic() - from);
    of("a").end();
    await settled();
    pulls.want([]);
  }
  assert.deepEqual(gaps, [0, 0, 0, 0, 0, 0, 0, 0, 0, 500, 1000, 2000]);
});

test("stopping cancels everything and waits for its end", async () => {
  const { pulls, names, ended, clock } = pulling();
  pulls.want([job("a"), job("b"), job("c")]);
  await pulls.stop();
  pulls.want([job("d")]);
  await clock.pass(minute);
  assert.deepEqual([names(), ended, clock.sleepers], [[], [], 0]);
});

test("whatever is wanted, whatever ends how, no name is pulled twice at a time, and in the end all is", async () => {
  const step = fc.oneof(
    fc.record({ want: fc.subarray(["a", "b", "c", "d"]) }),
    fc.record({ end: fc.nat(3), fails: fc.boolean() }),
    fc.record({ pass: fc.integer({ min: 0, max: 20_000 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { pulls, clock, names, of, ended } = pulling();
      for (const each of steps) {
        if ("want" in each) pulls.want(each.want.map((name) => job(name)));
        else if ("pass" in each) await clock.pass(each.pass);
        else {
          const name = names()[each.end];
          if (name !== undefined) of(name).end(each.fails ? new Error("no") : undefined);
        }
        await settled();
        assert.equal(new Set(names()).size, names().length);
      }
      pulls.want(["a", "b", "c", "d"].map((name) => job(name)));
      ended.length = 0;
      const missing = new Set(["a", "b", "c", "d"]);
      for (let round = 0; round < 40 && missing.size > 0; round++) {
        await clock.pass(5 * minute);
        for (const name of names()) {
          of(name).end();
          missing.delete(name);
        }
        await settled();
      }
      assert.deepEqual([...missing], []);
      await pulls.stop();
    }),
    { numRuns: 60 },
  );
});
