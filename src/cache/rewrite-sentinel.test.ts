import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { entriesOf, fill, filesImage } from "../../test/cache/fixture.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { sentinelName } from "./sentinel.ts";
import { Store } from "./store.ts";

const image = filesImage({ "a.tar": "alpha", "b.tar": "beta" });

function readSentinelFile(path: string): unknown {
  return JSON.parse(fs.readFileSync(join(path, "app", sentinelName), "utf8"));
}

test("adoption rewrites the owner, keeps unknown keys, and touches no other file", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  const file = join(path, "app", sentinelName);
  const before = fs.readFileSync(file, "utf8").replace("{", '{"future":[1,2],');
  fs.writeFileSync(file, before);
  const inode = fs.statSync(join(path, "app", "a.tar")).ino;
  const store = await Store.open(path);
  const signal = new AbortController().signal;
  assert.equal(await store.adopt("app", signal), true);
  assert.deepEqual(readSentinelFile(path), { ...JSON.parse(before), owner: "image-cache-agent" });
  assert.equal(fs.statSync(join(path, "app", "a.tar")).ino, inode);
  assert.equal(fs.statSync(file).mode & 0o777, 0o644);
  assert.deepEqual(await entriesOf(path), ["app"]);
});

test("there is nothing to adopt in what is the agent's, foreign, broken or absent", async (t) => {
  const path = await tempDirectory(t);
  const signal = new AbortController().signal;
  const store = await Store.open(path);
  assert.equal(await store.adopt("app", signal), false);
  await fill(path, image, { owner: "image-cache-agent" });
  assert.equal(await store.adopt("app", signal), false);
  fs.writeFileSync(join(path, "app", sentinelName), "{");
  assert.equal(await store.adopt("app", signal), false);
  fs.unlinkSync(join(path, "app", sentinelName));
  assert.equal(await store.adopt("app", signal), false);
});
