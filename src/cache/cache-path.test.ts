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

test("a directory above the cache path that this user may not enter is named, with what opens it", async (t) => {
  assert.equal(process.geteuid?.(), 0, "run this test as root: it acts as another user");
  const folder = await tempDirectory(t);
  fs.chmodSync(folder, 0o755);
  const closed = join(folder, "closed");
  fs.mkdirSync(join(closed, "open/cache"), { recursive: true });
  fs.chmodSync(closed, 0o744);
  const names = refusal(
    "cache-path",
    /: user 65532 may not enter (\S+\/closed): make that directory searchable for this user \(chmod a\+x \1\)/,
  );
  process.seteuid?.(65532);
  try {
    await assert.rejects(Store.open(join(closed, "open/cache")), names);
    await assert.rejects(Store.open(join(closed, "missing")), names);
  } finally {
    process.seteuid?.(0);
  }
});

test("a cache path of somebody else's that this user may not read is to be handed over", async (t) => {
  assert.equal(process.geteuid?.(), 0, "run this test as root: it acts as another user");
  const path = join(await tempDirectory(t), "cache");
  fs.chmodSync(join(path, ".."), 0o755);
  fs.mkdirSync(path, { mode: 0o700 });
  process.seteuid?.(65532);
  try {
    await assert.rejects(
      Store.open(path),
      refusal("cache-path", /user 65532 may not write there: .*larder prepare --uid 65532 \S+$/),
    );
  } finally {
    process.seteuid?.(0);
  }
});
