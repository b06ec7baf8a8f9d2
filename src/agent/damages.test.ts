import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { fill, filesImage } from "../../test/cache/fixture.ts";
import { HandClock } from "../../testbed/hand-clock.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { Store } from "../cache/store.ts";
import { Damages } from "./damages.ts";
import type { OpenStore } from "./look.ts";

/** Damages that look while the test runs, at two real directories. */
async function looking(t: TestContext, open: OpenStore = (where) => Store.open(where)) {
  const path = await tempDirectory(t);
  for (const name of ["a", "b"]) await fill(path, filesImage({ "x.tar": "alpha" }), { name });
  const clock = new HandClock();
  const found: string[] = [];
  const mended: string[] = [];
  const warnings: string[] = [];
  let opened = 0;
  const damages = new Damages({
    open: async (where) => {
      opened += 1;
      return open(where);
    },
    found: (place) => found.push(place),
    mended: (place) => mended.push(place),
    log: { warn: (message) => warnings.push(message) },
    clock,
  });
  const stop = new AbortController();
  const running = damages.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
  });
  const overwrite = (name: string, text = "ALPHA"): void => {
    fs.writeFileSync(join(path, name, "x.tar"), text);
  };
  const suspect = async (name: string): Promise<void> => {
    damages.suspect({ path, name, file: "x.tar" });
    await clock.pass(250);
  };
  return {
    path,
    damages,
    found,
    mended,
    warnings,
    overwrite,
    suspect,
    stop: async () => {
      stop.abort();
      await running;
    },
    opened: () => opened,
  };
}

test("a file that differs from its checksum is found, once its writer is quiet, with the reason", async (t) => {
  const { path, damages, found, overwrite, suspect } = await looking(t);
  overwrite("a");
  await suspect("a");
  await until("it is found", () => found.length > 0);
  assert.deepEqual(found, [`${path}/a`]);
  assert.match(damages.known.get(`${path}/a`) ?? "", /^"x\.tar" should be /);
});

test("a file that was written again as it was is no damage", async (t) => {
  const { damages, found, overwrite, suspect, opened } = await looking(t);
  overwrite("a", "alpha");
  await suspect("a");
  await until("it was looked at", () => opened() > 0);
  overwrite("b");
  await suspect("b");
  await until("the other is found", () => found.length > 0);
  assert.equal(damages.known.size, 1);
});

test("what was filled anew, or is desired no more, is known no more", async (t) => {
  const { path, damages, found, overwrite, suspect } = await looking(t);
  for (const name of ["a", "b"]) {
    overwrite(name);
    await suspect(name);
  }
  await until("both are found", () => found.length === 2);
  damages.repaired(`${path}/a`);
  assert.deepEqual([...damages.known.keys()], [`${path}/b`]);
  damages.keepOnly(new Set([`${path}/a`]));
  assert.equal(damages.known.size, 0);
});

test("a damaged file that somebody mends by hand is damaged no more, and a pass is told so", async (t) => {
  const { path, damages, found, mended, overwrite, suspect } = await looking(t);
  overwrite("a");
  await suspect("a");
  await until("it is found", () => found.length > 0);
  overwrite("a", "alpha");
  await suspect("a");
  await until("it is told", () => mended.length > 0);
  assert.deepEqual(mended, [`${path}/a`]);
  assert.equal(damages.known.size, 0);
});

test("one good file does not mend a directory with a damaged one", async (t) => {
  const { path, damages, found, overwrite, suspect } = await looking(t);
  await fill(path, filesImage({ "x.tar": "alpha", "y.tar": "beta" }), { name: "c" });
  overwrite("c");
  await suspect("c");
  await until("it is found", () => found.length > 0);
  damages.suspect({ path, name: "c", file: "y.tar" });
  await suspect("b");
  await until("it is found again", () => found.length > 1);
  assert.ok(damages.known.has(`${path}/c`));
});

test("a damaged directory that somebody replaces or removes is damaged no more", async (t) => {
  const { path, damages, found, mended, overwrite, suspect, opened } = await looking(t);
  for (const name of ["a", "b"]) {
    overwrite(name);
    await suspect(name);
  }
  await until("both are found", () => found.length === 2);
  const before = opened();
  fs.rmSync(join(path, "a"), { recursive: true });
  await fill(path, filesImage({ "x.tar": "gamma" }), { name: "a" });
  fs.rmSync(join(path, "b"), { recursive: true });
  for (const name of ["a", "b", "unknown"]) damages.suspect({ path, name });
  await until("both are told", () => mended.length === 2);
  assert.equal(damages.known.size, 0);
  assert.equal(opened() - before, 2);
});

test("however often a directory is suspected while it is read, it is read once more", async (t) => {
  const gate = Promise.withResolvers<void>();
  const { found, overwrite, suspect, opened } = await looking(t, async (where) => {
    await gate.promise;
    return Store.open(where);
  });
  overwrite("a");
  for (let times = 0; times < 5; times += 1) await suspect("a");
  gate.resolve();
  await until("it is found again", () => found.length > 1);
  await suspect("b");
  await until("the other is looked at", () => opened() > 2);
  assert.equal(opened(), 3);
});

test("a cache path that cannot be read is told of, and damages nothing", async (t) => {
  const { damages, warnings, suspect } = await looking(t, async () => {
    throw new Error("unmounted");
  });
  await suspect("a");
  await until("it is told", () => warnings.length > 0);
  assert.deepEqual(warnings, ["cannot check a file"]);
  assert.equal(damages.known.size, 0);
});

test("the end waits for a look that is under way, and tells nothing of it", async (t) => {
  const gate = Promise.withResolvers<void>();
  const { found, warnings, overwrite, suspect, stop, opened } = await looking(t, async (where) => {
    await gate.promise;
    return Store.open(where);
  });
  overwrite("a");
  await suspect("a");
  await until("a look is under way", () => opened() > 0);
  let ended = false;
  const end = stop().then(() => {
    ended = true;
  });
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  assert.equal(ended, false);
  gate.resolve();
  await end;
  assert.deepEqual([found, warnings], [[], []]);
});
