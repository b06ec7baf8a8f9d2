import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { entriesOf, fill, filesImage } from "../../test/cache/fixture.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { digestOf } from "../registry/digest.ts";
import { Directory } from "./directory.ts";
import { lock } from "./lock.ts";
import { Store } from "./store.ts";

const image = filesImage({ "a.tar": "alpha", "b.tar": "beta" });
const signal = new AbortController().signal;
const resolved = digestOf(Buffer.from("an index"));

async function filled(t: TestContext) {
  const path = await tempDirectory(t);
  await fill(path, image, { owner: "image-cache-agent" });
  const sentinel = join(path, "app", ".image-cache-agent.json");
  const rewrite = (change: (object: Record<string, unknown>) => void): void => {
    const object = JSON.parse(fs.readFileSync(sentinel, "utf8"));
    change(object);
    fs.writeFileSync(sentinel, JSON.stringify(object));
  };
  return { path, sentinel, rewrite, store: await Store.open(path) };
}

test("what a tag named is recorded where an older agent left that out, and nothing else changes", async (t) => {
  const { path, store, sentinel, rewrite } = await filled(t);
  rewrite((object) => {
    delete object["resolved"];
    object["future"] = [1];
  });
  const before = JSON.parse(fs.readFileSync(sentinel, "utf8"));
  assert.equal(await store.recordResolved("app", { digest: image.digest, resolved }, signal), true);
  assert.deepEqual(JSON.parse(fs.readFileSync(sentinel, "utf8")), { ...before, resolved });
  assert.deepEqual(await entriesOf(path), ["app"]);
});

test("what is recorded already stays, and so does what holds another image, or is not there", async (t) => {
  const { store, sentinel, rewrite } = await filled(t);
  assert.equal(
    await store.recordResolved("app", { digest: image.digest, resolved }, signal),
    false,
  );
  rewrite((object) => delete object["resolved"]);
  const before = fs.readFileSync(sentinel, "utf8");
  assert.equal(await store.recordResolved("app", { digest: resolved, resolved }, signal), false);
  assert.equal(await store.recordResolved("none", { digest: resolved, resolved }, signal), false);
  assert.equal(fs.readFileSync(sentinel, "utf8"), before);
});

test("adoption does not wait for a run that holds the name", async (t) => {
  const { path, store, sentinel, rewrite } = await filled(t);
  rewrite((object) => {
    object["owner"] = "imagecachectl";
  });
  const before = fs.readFileSync(sentinel, "utf8");
  using parent = Directory.open(path);
  const run = await lock(parent, "app", { signal });
  assert.equal(await store.adopt("app", signal), false);
  assert.equal(fs.readFileSync(sentinel, "utf8"), before);
  await run.release();
  assert.equal(await store.adopt("app", signal), true);
});

test("collectable is what is the agent's or nobody's; not imports, foreign ones, files or links", async (t) => {
  const { path, store } = await filled(t);
  await fill(path, image, { name: "imported", owner: "imagecachectl" });
  await fill(path, image, { name: "nobodys", owner: "image-cache-agent" });
  const sentinel = join(path, "nobodys", ".image-cache-agent.json");
  fs.writeFileSync(sentinel, fs.readFileSync(sentinel, "utf8").replace(/ *"owner".*\n/, ""));
  fs.mkdirSync(join(path, "foreign"));
  fs.mkdirSync(join(path, "broken"));
  fs.writeFileSync(join(path, "broken", ".image-cache-agent.json"), "{");
  fs.writeFileSync(join(path, "flat.tar"), "x");
  fs.symlinkSync("app", join(path, "link"));
  assert.deepEqual([...store.collectable()].sort(), ["app", "nobodys"]);
});

test("a file that was overwritten in its own size is damaged, by its checksum", async (t) => {
  const { path, store } = await filled(t);
  assert.equal(await store.damage("app", undefined, signal), undefined);
  fs.writeFileSync(join(path, "app", "b.tar"), "BETA");
  assert.equal(await store.damage("app", ["a.tar"], signal), undefined);
  const said = /^"b\.tar" should be \w+:\w+ and is \w+:\w+$/;
  assert.match((await store.damage("app", ["b.tar"], signal)) ?? "", said);
  assert.match((await store.damage("app", undefined, signal)) ?? "", said);
});

test("a file that is missing, cut off, or something else now is damaged", async (t) => {
  const { path, store } = await filled(t);
  const file = join(path, "app", "a.tar");
  fs.truncateSync(file, 2);
  assert.equal(
    await store.damage("app", ["a.tar"], signal),
    '"a.tar" should be 5 bytes and is 2 bytes',
  );
  fs.rmSync(file);
  assert.match((await store.damage("app", ["a.tar"], signal)) ?? "", /is missing$/);
  fs.mkdirSync(file);
  assert.match((await store.damage("app", ["a.tar"], signal)) ?? "", /is a directory$/);
});

test("without checksums the size decides", async (t) => {
  const { path, store, rewrite } = await filled(t);
  rewrite((object) => delete object["sums"]);
  fs.writeFileSync(join(path, "app", "a.tar"), "ALPHA");
  assert.equal(await store.damage("app", undefined, signal), undefined);
});

test("what nobody listed, and what is not there, cannot be damaged", async (t) => {
  const { path, store } = await filled(t);
  fs.writeFileSync(join(path, "app", "new"), "x");
  assert.equal(await store.damage("app", ["new", "never"], signal), undefined);
  assert.equal(await store.damage("none", undefined, signal), undefined);
  fs.mkdirSync(join(path, "foreign"));
  assert.equal(await store.damage("foreign", undefined, signal), undefined);
});

test("reading files ends with the signal's reason", async (t) => {
  const { store } = await filled(t);
  const reason = new Error("stop");
  await assert.rejects(store.damage("app", undefined, AbortSignal.abort(reason)), reason);
});

test("space is that of the file system that the cache path is on", async (t) => {
  const { path, store } = await filled(t);
  const { free, total } = store.space();
  const { bsize, blocks } = fs.statfsSync(path);
  assert.equal(total, bsize * blocks);
  assert.ok(free > 0 && free <= total);
});
