import assert from "node:assert/strict";
import * as fs from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { refusal } from "../../testbed/refusal.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { Directory } from "./directory.ts";
import { removeEntry } from "./remove.ts";

test("a directory nested thousands deep is removed without running out of stack or descriptors", async (t) => {
  const path = await mkdtemp(join(tmpdir(), "larder-remove-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  const before = process.cwd();
  process.chdir(path);
  for (const name of ["deep", ...Array.from({ length: 10_000 }, () => "d")]) {
    fs.mkdirSync(name);
    process.chdir(name);
  }
  fs.writeFileSync("file", "");
  process.chdir(before);
  using parent = Directory.open(path);
  await removeEntry(parent, "deep");
  assert.deepEqual(await readdir(path), []);
});

test("a removal that is to hurry stops soon, and says that the next run removes the rest", async (t) => {
  const path = await tempDirectory(t);
  fs.mkdirSync(join(path, "many"));
  for (let n = 0; n < 100; n++) fs.writeFileSync(join(path, "many", `${n}`), "");
  using parent = Directory.open(path);
  await assert.rejects(
    removeEntry(parent, "many", AbortSignal.abort()),
    refusal("interrupted", /cannot remove all of \S+\/many: it was told to stop, .*: run it again/),
  );
  const left = fs.readdirSync(join(path, "many")).length;
  assert.ok(left > 0 && left < 100, `${left}`);
  await removeEntry(parent, "many");
  assert.deepEqual(fs.readdirSync(path), []);
});
