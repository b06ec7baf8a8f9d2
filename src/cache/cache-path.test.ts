import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { refusal } from "../../testbed/refusal.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { Store } from "./store.ts";

test("a cache path that does not exist is an error, and is not created", async (t) => {
  const path = join(await tempDirectory(t), "missing");
  await assert.rejects(
    Store.open(path),
    refusal("cache-path", /does not exist: make it \(mkdir -p/),
  );
  assert.ok(!fs.existsSync(path));
});

test("a cache path that is a file, or below a file, is an error", async (t) => {
  const path = join(await tempDirectory(t), "file");
  fs.writeFileSync(path, "");
  await assert.rejects(Store.open(path), refusal("cache-path", /it is a file/));
  await assert.rejects(Store.open(`${path}/x`), refusal("cache-path", /not a directory/));
});

test("a cache path that is a symbolic link is an error that names the directory behind it", async (t) => {
  const path = await tempDirectory(t);
  fs.mkdirSync(join(path, "real"));
  fs.symlinkSync("real", join(path, "link"));
  const names = refusal("cache-path", /is a symbolic link: name the directory itself: .*\/real/);
  await assert.rejects(Store.open(join(path, "link")), names);
});

test("a cache path is normalised once, at the edge", async (t) => {
  const path = await tempDirectory(t);
  assert.equal((await Store.open(`${path}//`)).path, path);
  await assert.rejects(Store.open("relative"), refusal("usage", /slash/));
});
