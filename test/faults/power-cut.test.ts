import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { Store } from "../../src/cache/store.ts";
import { openArchive } from "../../src/image/archive.ts";
import { machinePlatform } from "../../src/registry/platform.ts";
import {
  copyDisk,
  type FileSystem,
  makeDisk,
  mountDisk,
  powerCut,
} from "../../testbed/loop-disk.ts";
import { countSteps, larderStopping, spread } from "../../testbed/stopping-larder.ts";
import { firstDifference, type Version, writeVersion } from "./cache-images.ts";

/** For each file system, half with files flushed one by one and half with all flushed at once. */
const pointsEach = 100;

const never = new AbortController().signal;
const dir = await mkdtemp(join(tmpdir(), "larder-power-"));
after(() => rm(dir, { recursive: true, force: true }));

for (const type of ["ext4", "xfs"] as const) {
  for (const [flushed, files] of [
    ["one by one", 12],
    ["all at once", 90],
  ] as const) {
    test(`a power cut at ${pointsEach} points of a run on ${type}, its files flushed ${flushed}, never leaves a directory that reads complete and is not, and the next run repairs it`, async () => {
      const old = await writeVersion(dir, "1", files);
      const young = await writeVersion(dir, "2", files);
      const pristine = join(dir, `${type}-${files}`);
      await withDisk(pristine, type, true, (path) => fill(path, old));
      const steps = await withCopy(pristine, type, (path) => countSteps(importArgs(path, young)));
      assert.ok(steps >= pointsEach, `a run has ${steps} points only`);

      const seen = new Map<string, number>();
      for (const at of spread(steps, pointsEach)) {
        const cut = await cutAt(pristine, type, young, at);
        const found = await withDisk(cut, type, false, (path) => inspect(path, old, young, at));
        seen.set(found, (seen.get(found) ?? 0) + 1);
      }
      // A suite whose cuts all fell on one side of the swap would prove nothing.
      assert.ok(
        (seen.get("old") ?? 0) > 0 && (seen.get("new") ?? 0) > 0,
        JSON.stringify([...seen]),
      );
    });
  }
}

/** Starts a run on a copy of a disk, cuts the power at a point, and gives back the disk's file. */
async function cutAt(
  pristine: string,
  type: FileSystem,
  young: Version,
  at: number,
): Promise<string> {
  const cut = join(dir, "cut");
  await rm(cut, { force: true });
  await withCopy(pristine, type, async (path, file) => {
    const run = await larderStopping(importArgs(path, young), { at });
    assert.equal(run.end, "SIGKILL", `stopped at ${at}: ${run.stderr}`);
    await powerCut(file, cut);
  });
  return cut;
}

/** After the power is back: what is there must be whole if it says so; then repairs it. */
async function inspect(path: string, old: Version, young: Version, at: number): Promise<string> {
  const store = await Store.open(path);
  const state = await store.state("app");
  let found: string = state.kind;
  if (state.kind === "complete") {
    const isOld = (await firstDifference(join(path, "app"), old)) === undefined;
    const differing = await firstDifference(join(path, "app"), young);
    assert.ok(
      isOld || differing === undefined,
      `cut at ${at}: it reads complete, but ${differing} differs`,
    );
    found = isOld ? "old" : "new";
  }
  assert.notEqual(state.kind, "foreign", `cut at ${at}: nothing would ever repair this`);
  await fill(path, young);
  assert.equal((await store.state("app")).kind, "complete", `cut at ${at}`);
  assert.equal(await firstDifference(join(path, "app"), young), undefined, `cut at ${at}`);
  const left = (await readdir(path)).filter((name) => name !== "app" && name !== "lost+found");
  assert.deepEqual(left, [], `cut at ${at}: something is left behind`);
  return found;
}

function importArgs(path: string, version: Version): string[] {
  return ["import", "--quiet", "--cache-path", path, "--name", "app", version.archive];
}

async function fill(path: string, version: Version): Promise<void> {
  const archive = await openArchive(version.archive, machinePlatform(), never);
  try {
    const store = await Store.open(path);
    const want = { digest: archive.image.digest };
    await store.fill("app", want, async () => archive.image, {
      signal: never,
      owner: "imagecachectl",
    });
  } finally {
    await archive.close();
  }
}

async function withDisk<T>(
  file: string,
  type: FileSystem,
  make: boolean,
  use: (path: string) => Promise<T>,
): Promise<T> {
  if (make) await makeDisk(file, type);
  const disk = await mountDisk(file, type);
  try {
    return await use(disk.path);
  } finally {
    await disk.close();
  }
}

async function withCopy<T>(
  pristine: string,
  type: FileSystem,
  use: (path: string, file: string) => Promise<T>,
): Promise<T> {
  const file = join(dir, "running");
  await copyDisk(pristine, file);
  return withDisk(file, type, false, (path) => use(path, file));
}
