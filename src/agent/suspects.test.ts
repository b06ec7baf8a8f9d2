import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { systemClock } from "../registry/clock.ts";
import { HandClock } from "../../testbed/hand-clock.ts";
import { until } from "../../testbed/until.ts";
import { Suspects, type Suspected, type SuspectsOptions } from "./suspects.ts";

const path = "/var/lib/image-cache";

function watching(t: TestContext, options: Partial<SuspectsOptions> = {}) {
  const clock = new HandClock();
  const due: (Suspected & { at: number })[] = [];
  const begun = clock.monotonic();
  const suspects = new Suspects({
    clock,
    onDue: (suspected) => due.push({ ...suspected, at: clock.monotonic() - begun }),
    ...options,
  });
  const stop = new AbortController();
  const running = suspects.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
  });
  const add = (file: string, name = "app"): void => suspects.add({ path, name, file });
  return { clock, due, add, stop, running };
}

test("a file is looked at once nothing happened to it for 250 ms", async (t) => {
  const { clock, due, add } = watching(t);
  add("a.tar");
  await clock.pass(200);
  add("a.tar");
  await clock.pass(249);
  assert.deepEqual(due, []);
  await clock.pass(1);
  assert.deepEqual(due, [{ path, name: "app", files: ["a.tar"], at: 450 }]);
  await clock.pass(100_000);
  assert.equal(due.length, 1);
});

test("files that become quiet together are told together, those of each resource apart", async (t) => {
  const { clock, due, add } = watching(t);
  for (const file of ["c.tar", "a.tar", "b.tar"]) add(file);
  add("a.tar", "other");
  await clock.pass(250);
  assert.deepEqual(due, [
    { path, name: "app", files: ["a.tar", "b.tar", "c.tar"], at: 250 },
    { path, name: "other", files: ["a.tar"], at: 250 },
  ]);
});

test("a file that is busy holds up no other", async (t) => {
  const { clock, due, add } = watching(t);
  add("quiet.tar");
  for (let turn = 0; turn < 10; turn++) {
    add("busy.tar");
    await clock.pass(100);
  }
  assert.deepEqual(due, [{ path, name: "app", files: ["quiet.tar"], at: 250 }]);
});

test("a file that is written without a pause is looked at after 2 s, and again once it is quiet", async (t) => {
  const { clock, due, add } = watching(t);
  for (let turn = 0; turn < 30; turn++) {
    add("a.tar");
    await clock.pass(100);
  }
  assert.deepEqual(
    due.map(({ at }) => at),
    [2000],
  );
  await clock.pass(1000);
  assert.deepEqual(
    due.map(({ at }) => at),
    [2000, 3150],
  );
});

test("a file that was looked at and had no event since is not looked at again", async (t) => {
  const { clock, due, add } = watching(t);
  for (let turn = 0; turn < 20; turn++) {
    add("a.tar");
    await clock.pass(100);
  }
  await clock.pass(1000);
  assert.deepEqual(
    due.map(({ at }) => at),
    [2000],
  );
});

test("a file that is written for hours is looked at ever less often, at least every 64 s", async (t) => {
  const { clock, due, add } = watching(t);
  for (let turn = 0; turn < 3200; turn++) {
    add("a.tar");
    await clock.pass(100);
  }
  const looks = due.map(({ at }, index) => at - (due[index - 1]?.at ?? 0));
  assert.deepEqual(looks, [2000, 4000, 8000, 16_000, 32_000, 64_000, 64_000, 64_000, 64_000]);
});

test("more suspects than can be kept become a suspicion of the resource as a whole", async (t) => {
  const { clock, due, add } = watching(t, { mostFiles: 3 });
  for (const file of ["a", "b", "c", "d", "e"]) add(file);
  add("a", "other");
  await clock.pass(250);
  assert.deepEqual(due, [
    { path, name: "app", files: undefined, at: 250 },
    { path, name: "other", files: ["a"], at: 250 },
  ]);
  add("a");
  await clock.pass(250);
  assert.deepEqual(due[2], { path, name: "app", files: ["a"], at: 500 });
});

test("a suspect that the callback adds is no part of the same look", async () => {
  const clock = new HandClock();
  const looks: number[] = [];
  const suspects = new Suspects({
    clock,
    onDue: () => {
      looks.push(clock.monotonic());
      if (looks.length < 3) suspects.add({ path, name: "app", file: "a.tar" });
    },
  });
  const stop = new AbortController();
  const running = suspects.run(stop.signal);
  suspects.add({ path, name: "app", file: "a.tar" });
  await clock.pass(10_000);
  assert.deepEqual(looks, [250, 500, 750]);
  stop.abort();
  await running;
});

test("an abort ends it at once, asleep or idle, and leaves no timer", async (t) => {
  const idle = watching(t);
  idle.stop.abort();
  await idle.running;
  const asleep = watching(t);
  asleep.add("a.tar");
  await asleep.clock.pass(1);
  assert.equal(asleep.clock.sleepers, 1);
  asleep.stop.abort();
  await asleep.running;
  assert.equal(asleep.clock.sleepers, 0);
  await asleep.clock.pass(1000);
  assert.deepEqual(asleep.due, []);
});

test("it works on a real clock", async (t) => {
  const { due, add } = watching(t, { clock: systemClock });
  add("a.tar");
  await until("the file is due", () => due.length === 1);
  assert.deepEqual(due[0]?.files, ["a.tar"]);
});
