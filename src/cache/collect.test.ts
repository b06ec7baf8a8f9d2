import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { entriesOf, fill, filesImage } from "../../test/cache/fixture.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { Directory } from "./directory.ts";
import { lock } from "./lock.ts";
import { sentinelName, type SentinelOwner } from "./sentinel.ts";
import { Store } from "./store.ts";

const image = filesImage({ "a.tar": "alpha" });

function put(path: string, name: string, owner: SentinelOwner) {
  return fill(path, image, { name, owner });
}

async function collectAll(path: string, keep: readonly string[] = []) {
  const store = await Store.open(path);
  return store.collect({ mayRemove: (name) => !keep.includes(name) });
}

test("directories that the agent owns and nobody claims are removed", async (t) => {
  const path = await tempDirectory(t);
  await put(path, "old", "image-cache-agent");
  await put(path, "claimed", "image-cache-agent");
  const removed = await collectAll(path, ["claimed"]);
  assert.deepEqual(removed, [{ kind: "directory", name: "old", entry: "old" }]);
  assert.deepEqual(await entriesOf(path), ["claimed"]);
});

test("directories whose sentinel names no owner are removed: an older agent made them", async (t) => {
  const path = await tempDirectory(t);
  await put(path, "old", "image-cache-agent");
  const file = join(path, "old", sentinelName);
  fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace(/ *"owner".*\n/, ""));
  assert.equal((await collectAll(path)).length, 1);
});

test("directories that imagecachectl owns stay, always", async (t) => {
  const path = await tempDirectory(t);
  await put(path, "imported", "imagecachectl");
  assert.deepEqual(await collectAll(path), []);
  assert.deepEqual(await entriesOf(path), ["imported"]);
});

test("flat files, foreign directories, links and what is not a leftover stay, always", async (t) => {
  const path = await tempDirectory(t);
  await put(path, "real", "imagecachectl");
  fs.symlinkSync("real", join(path, "link"));
  fs.mkdirSync(join(path, "foreign"));
  fs.mkdirSync(join(path, ".hidden"));
  fs.writeFileSync(join(path, "flat.tar"), "");
  fs.writeFileSync(join(path, ".app.tmp-1"), "a file");
  fs.symlinkSync("real", join(path, ".app.tmp-2"));
  fs.writeFileSync(join(path, ".larder-agent.json"), "{}");
  const before = await entriesOf(path);
  assert.deepEqual(await collectAll(path), []);
  assert.deepEqual(await entriesOf(path), before);
});

test("a directory whose sentinel cannot be read stays: it does not say whose it is", async (t) => {
  const path = await tempDirectory(t);
  await put(path, "broken", "image-cache-agent");
  fs.truncateSync(join(path, "broken", sentinelName), 10);
  assert.deepEqual(await collectAll(path), []);
});

test("an incomplete directory of the agent's is removed like a complete one", async (t) => {
  const path = await tempDirectory(t);
  await put(path, "old", "image-cache-agent");
  fs.unlinkSync(join(path, "old", "a.tar"));
  assert.equal((await collectAll(path)).length, 1);
  assert.deepEqual(await entriesOf(path), []);
});

test("leftovers that no running extraction holds are removed, those of a live one stay", async (t) => {
  const path = await tempDirectory(t);
  using parent = Directory.open(path);
  const run = await lock(parent, "live", { signal: new AbortController().signal });
  fs.mkdirSync(join(path, ".dead.tmp-1", "old"), { recursive: true });
  fs.mkdirSync(join(path, ".dead.tmp-2"));
  const removed = await collectAll(path);
  assert.deepEqual(removed.map(({ entry }) => entry).sort(), [".dead.tmp-1", ".dead.tmp-2"]);
  assert.deepEqual(await entriesOf(path), [run.entry]);
  await run.release();
});

test("a directory that a live run is about to replace is not collected", async (t) => {
  const path = await tempDirectory(t);
  await put(path, "app", "image-cache-agent");
  using parent = Directory.open(path);
  const run = await lock(parent, "app", { signal: new AbortController().signal });
  assert.deepEqual(await collectAll(path), []);
  await run.release();
  assert.equal((await collectAll(path)).length, 1);
});

test("sweeping one name leaves the leftovers of others", async (t) => {
  const path = await tempDirectory(t);
  fs.mkdirSync(join(path, ".a.tmp-1"));
  fs.mkdirSync(join(path, ".b.tmp-1"));
  const store = await Store.open(path);
  assert.deepEqual(await store.sweep("a"), [{ kind: "leftover", name: "a", entry: ".a.tmp-1" }]);
  assert.deepEqual(await entriesOf(path), [".b.tmp-1"]);
});

test("sweeping puts back the content that a crash left in a hidden directory", async (t) => {
  const path = await tempDirectory(t);
  await put(path, "app", "image-cache-agent");
  fs.mkdirSync(join(path, ".app.tmp-1"));
  fs.renameSync(join(path, "app"), join(path, ".app.tmp-1", "old"));
  const store = await Store.open(path);
  await store.sweep();
  assert.deepEqual(await entriesOf(path), ["app"]);
  assert.equal((await store.state("app")).kind, "complete");
});
