import assert from "node:assert/strict";
import { statfsSync } from "node:fs";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";

import { tempDirectory } from "../../testbed/temp-directory.ts";
import { systemClock, type Clock } from "../registry/clock.ts";
import { DiskUsage, type FileSystemFigures } from "./disk-usage.ts";

const figures = { bsize: 8192, frsize: 4096, blocks: 100, bavail: 25 };

test("the figures of a path are those of its file system", async (context) => {
  const path = await tempDirectory(context);
  const spaces = await new DiskUsage({ clock: systemClock }).of([path]);
  const { blocks, bsize } = statfsSync(path);
  const space = spaces.get(path);
  assert.equal(space?.total, blocks * bsize);
  assert.ok(space.free > 0 && space.free <= space.total);
});

test("a path that is not there has no figures, and the others have theirs", async (context) => {
  const path = await tempDirectory(context);
  const spaces = await new DiskUsage({ clock: systemClock }).of([`${path}/none`, path]);
  assert.deepEqual([...spaces.keys()], [path]);
});

test("blocks count in fragments where the two differ", async () => {
  const usage = new DiskUsage({ clock: systemClock, ask: async () => figures });
  assert.deepEqual([...(await usage.of(["/a"]))], [["/a", { free: 102_400, total: 409_600 }]]);
});

test("a disk that hangs is given up after a second, and asked no second time meanwhile", async () => {
  const asked: string[] = [];
  const hanging = Promise.withResolvers<FileSystemFigures>();
  const sleeps: { readonly milliseconds: number; readonly end: () => void }[] = [];
  const clock: Clock = {
    ...systemClock,
    sleep: (milliseconds) => new Promise((end) => sleeps.push({ milliseconds, end })),
  };
  const usage = new DiskUsage({
    clock,
    ask: async (path) => {
      asked.push(path);
      return path === "/hangs" ? hanging.promise : figures;
    },
  });
  for (const round of [0, 1]) {
    const spaces = usage.of(["/hangs", "/ok"]);
    await setImmediate();
    assert.equal(sleeps[round]?.milliseconds, 1000);
    sleeps[round]?.end();
    assert.deepEqual([...(await spaces).keys()], ["/ok"]);
  }
  assert.deepEqual(asked, ["/hangs", "/ok", "/ok"]);
  hanging.resolve(figures);
  await setImmediate();
  assert.deepEqual([...(await usage.of(["/hangs"])).keys()], ["/hangs"]);
  assert.deepEqual(asked, ["/hangs", "/ok", "/ok", "/hangs"]);
});
