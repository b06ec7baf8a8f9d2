import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { entriesOf, fill, filesImage } from "../../test/cache/fixture.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import type { Image } from "../registry/image.ts";
import { sentinelName } from "./sentinel.ts";

const image = filesImage({ "a.tar": "alpha", "b.tar": "beta" });
const another = filesImage({ "a.tar": "other" });

async function unreachable(): Promise<Image> {
  return assert.fail("the source was asked");
}

function readSentinelFile(path: string): unknown {
  return JSON.parse(fs.readFileSync(join(path, "app", sentinelName), "utf8"));
}

test("a fill writes the files, and a sentinel with all that is known of them", async (t) => {
  const path = await tempDirectory(t);
  const result = await fill(path, image, { source: "r.example.com/app:1", archive: "app.tar" });
  assert.equal(result.result, "pulled");
  assert.equal(result.bytes, 9);
  assert.deepEqual(await entriesOf(join(path, "app")), [sentinelName, "a.tar", "b.tar"]);
  assert.deepEqual(readSentinelFile(path), {
    digest: image.digest,
    files: ["a.tar", "b.tar"],
    owner: "imagecachectl",
    source: "r.example.com/app:1",
    archive: "app.tar",
    resolved: image.resolved,
    platform: "linux/amd64",
    layers: image.layers.map(({ diffId }) => diffId),
    sizes: { "a.tar": 5, "b.tar": 4 },
    sums: { "a.tar": "crc32:d0e0396a", "b.tar": "crc32:8f910463" },
  });
});

test("nothing is beside the target after a fill", async (t) => {
  const path = await tempDirectory(t);
  fs.writeFileSync(join(path, "some-bootstrap-image.tar"), "flat");
  await fill(path, image);
  assert.deepEqual(await entriesOf(path), ["app", "some-bootstrap-image.tar"]);
});

test("what is complete is left as it is, and its source is not asked", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image, { source: "r.example.com/app:1" });
  const before = fs.statSync(join(path, "app")).ino;
  const want = { source: "r.example.com/app:1" };
  const result = await fill(path, unreachable, { want });
  assert.equal(result.result, "complete");
  assert.equal(result.bytes, 9);
  assert.equal(fs.statSync(join(path, "app")).ino, before);
});

test("what an older agent left complete is complete, and its bytes are counted on the disk", async (t) => {
  const path = await tempDirectory(t);
  fs.mkdirSync(join(path, "app"));
  fs.writeFileSync(join(path, "app", "a.tar"), "12345");
  const sentinel = { digest: image.digest, files: ["a.tar"] };
  fs.writeFileSync(join(path, "app", sentinelName), JSON.stringify(sentinel));
  const result = await fill(path, unreachable, { want: { source: "r.example.com/app:1" } });
  assert.deepEqual(result, { result: "complete", sentinel, bytes: 5 });
});

test("what is complete is filled again when that is asked for", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  const result = await fill(path, image, { force: true });
  assert.equal(result.result, "pulled");
});

test("what is stale is replaced", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image, { source: "r.example.com/app:1" });
  await fill(path, another, {
    want: { source: "r.example.com/app:2" },
    source: "r.example.com/app:2",
  });
  assert.deepEqual(await entriesOf(join(path, "app")), [sentinelName, "a.tar"]);
  assert.equal(fs.readFileSync(join(path, "app", "a.tar"), "utf8"), "other");
});

test("what is incomplete is repaired", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  fs.unlinkSync(join(path, "app", "b.tar"));
  assert.equal((await fill(path, image)).result, "pulled");
  assert.deepEqual(await entriesOf(join(path, "app")), [sentinelName, "a.tar", "b.tar"]);
});

test("leftovers of an interrupted run are swept first", async (t) => {
  const path = await tempDirectory(t);
  fs.mkdirSync(join(path, ".app.tmp-1", "new"), { recursive: true });
  fs.writeFileSync(join(path, ".app.tmp-1", "new", "half"), "ha");
  fs.mkdirSync(join(path, ".other.tmp-1"));
  const seen: string[][] = [];
  await fill(path, async () => {
    seen.push(await entriesOf(path));
    return image;
  });
  assert.equal(seen[0]?.length, 2);
  assert.deepEqual(await entriesOf(path), [".other.tmp-1", "app"]);
});

test("leftovers beside what is complete are swept, and its source is not asked", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  fs.mkdirSync(join(path, ".app.tmp-1", "old"), { recursive: true });
  assert.equal((await fill(path, unreachable)).result, "complete");
  assert.deepEqual(await entriesOf(path), ["app"]);
});

test("a run that a crash stopped between its renames is finished without a pull", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  fs.mkdirSync(join(path, ".app.tmp-1"));
  fs.renameSync(join(path, "app"), join(path, ".app.tmp-1", "new"));
  assert.equal((await fill(path, unreachable)).result, "complete");
  assert.deepEqual(await entriesOf(path), ["app"]);
});

test("two runs for one name at once: the second waits, then finds the work done", async (t) => {
  const path = await tempDirectory(t);
  const said: string[] = [];
  const onWait = (text: string): unknown => said.push(text);
  let opened = 0;
  const open = async (): Promise<Image> => {
    opened += 1;
    return image;
  };
  const results = await Promise.all([fill(path, open, { onWait }), fill(path, open, { onWait })]);
  assert.deepEqual(results.map(({ result }) => result).sort(), ["complete", "pulled"]);
  assert.equal(opened, 1);
  assert.ok(said.length > 0);
  assert.deepEqual(await entriesOf(path), ["app"]);
});

test("runs for two names share a cache path", async (t) => {
  const path = await tempDirectory(t);
  await Promise.all([fill(path, image, { name: "a" }), fill(path, another, { name: "b" })]);
  assert.deepEqual(await entriesOf(path), ["a", "b"]);
});
