import assert from "node:assert/strict";
import * as fs from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

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
