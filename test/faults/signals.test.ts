import assert from "node:assert/strict";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { verifyCache } from "../../src/cache/verify.ts";
import {
  countSteps,
  larderStopping,
  spread,
  type StoppedRun,
} from "../../testbed/stopping-larder.ts";
import { firstDifference, writeVersion } from "./cache-images.ts";

const points = 60;
/** Seconds for all of a run that is told to stop: three from the signal, and what came before it. */
const patience = 6;
const never = new AbortController().signal;
const dir = await mkdtemp(join(tmpdir(), "larder-signals-"));
after(() => rm(dir, { recursive: true, force: true }));

const old = await writeVersion(dir, "1", 20);
const young = await writeVersion(dir, "2", 20);

/** A cache path that holds the old version, for copies to be made of. */
const pristine = await mkdtemp(join(dir, "pristine-"));
await runToItsEnd(pristine, old.archive);
const steps = await countFrom(pristine);

test(`kill -9 at ${points} points of a whole run leaves the old content whole or the new, and the second run is complete and right`, async () => {
  const seen = await atEachPoint("SIGKILL", async (path, run, at) => {
    assert.equal(run.end, "SIGKILL", `at ${at}: ${run.stderr}`);
    const there = await contentOf(path, at);
    await secondRun(path, at);
    return there;
  });
  // Cuts that all fell on one side of the swap would prove nothing.
  assert.ok((seen.get("old") ?? 0) > 0 && (seen.get("new") ?? 0) > 0, JSON.stringify([...seen]));
});

for (const [signal, exitCode] of [
  ["SIGTERM", 143],
  ["SIGINT", 130],
] as const) {
  test(`${signal} at ${points} points of a whole run ends it with ${exitCode} within three seconds and leaves nothing, or lets it finish; the second run is complete and right`, async () => {
    const seen = await atEachPoint(signal, async (path, run, at) => {
      assert.ok(run.seconds < patience, `at ${at} it took ${run.seconds} s`);
      assert.deepEqual(await readdir(path), ["app"], `at ${at}: ${run.stderr}`);
      const there = await contentOf(path, at);
      if (run.end === 0) {
        assert.equal(there, "new", `at ${at} it says that it finished`);
      } else {
        assert.equal(run.end, exitCode, `at ${at}: ${run.stderr}`);
        assert.equal(there, "old", `at ${at} it says that it did not finish`);
        assert.match(run.stderr, /^larder: [^\n]+: it was told to stop: [^\n]+\n$/, `at ${at}`);
      }
      await secondRun(path, at);
      return String(run.end);
    });
    assert.ok((seen.get(String(exitCode)) ?? 0) > points / 2, JSON.stringify([...seen]));
    assert.ok((seen.get("0") ?? 0) > 0, JSON.stringify([...seen]));
  });
}

test("kill -9 while the first content is filled leaves nothing that reads complete, and the second run is complete and right", async () => {
  const empty = await mkdtemp(join(dir, "empty-"));
  await eachTwoAtOnce(spread(await countFrom(empty), 20), async (at) => {
    const path = await copyOf(empty);
    const run = await larderStopping(importArgs(path, young.archive), { at });
    assert.equal(run.end, "SIGKILL", `at ${at}: ${run.stderr}`);
    if ((await readdir(path)).includes("app")) assert.equal(await contentOf(path, at), "new");
    await secondRun(path, at);
    await rm(path, { recursive: true });
  });
});

/** Runs the command on a copy of the pristine cache path for each point; counts what is said of it. */
async function atEachPoint(
  by: NodeJS.Signals,
  look: (path: string, run: StoppedRun, at: number) => Promise<string>,
): Promise<ReadonlyMap<string, number>> {
  assert.ok(steps >= points, `a run has ${steps} points only`);
  const seen = new Map<string, number>();
  await eachTwoAtOnce(spread(steps, points), async (at) => {
    const path = await copyOf(pristine);
    const run = await larderStopping(importArgs(path, young.archive), { at, by });
    const found = await look(path, run, at);
    seen.set(found, (seen.get(found) ?? 0) + 1);
    await rm(path, { recursive: true });
  });
  return seen;
}

async function eachTwoAtOnce<T>(
  items: readonly T[],
  action: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const work = async (): Promise<void> => {
    for (const item of waiting) await action(item);
  };
  await Promise.all([work(), work()]);
}

async function countFrom(start: string): Promise<number> {
  const path = await copyOf(start);
  const count = await countSteps(importArgs(path, young.archive));
  await rm(path, { recursive: true });
  return count;
}

async function copyOf(start: string): Promise<string> {
  const path = await mkdtemp(join(dir, "cache-"));
  await cp(start, path, { recursive: true });
  return path;
}

/** Which content stands under the name, all of it read; a crash may have fallen between the two. */
async function contentOf(path: string, at: number): Promise<string> {
  const [verdict] = await verifyCache(path, { name: "app", deep: true, signal: never });
  if (verdict?.state === "absent") return "neither";
  assert.equal(verdict?.state, "complete", `at ${at}: ${verdict?.why}`);
  if ((await firstDifference(join(path, "app"), old)) === undefined) return "old";
  const differing = await firstDifference(join(path, "app"), young);
  assert.equal(differing, undefined, `at ${at}: it reads complete, but ${differing} differs`);
  return "new";
}

async function secondRun(path: string, at: number): Promise<void> {
  await runToItsEnd(path, young.archive, at);
  assert.equal(await contentOf(path, at), "new");
  assert.deepEqual(await readdir(path), ["app"], `at ${at}: something is left behind`);
}

async function runToItsEnd(path: string, archive: string, at = 0): Promise<void> {
  const run = await larderStopping(importArgs(path, archive), { at: 0 });
  assert.equal(run.end, 0, `the run after ${at}: ${run.stderr}`);
}

function importArgs(path: string, archive: string): string[] {
  return ["import", "--quiet", "--cache-path", path, "--name", "app", archive];
}
