import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { entriesOf, fill, filesImage, imageOf, tempDirectory } from "../../test/cache/fixture.ts";
import { InsufficientDiskError, LarderError, type ErrorCode } from "../errors.ts";
import type { Image } from "../registry/image.ts";
import { sentinelName } from "./sentinel.ts";
import { Store } from "./store.ts";

const image = filesImage({ "a.tar": "alpha", "b.tar": "beta" });
const another = filesImage({ "a.tar": "other" });

async function unreachable(): Promise<Image> {
  return assert.fail("the source was asked");
}

function withCode(code: ErrorCode, message: RegExp) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof LarderError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  };
}

function readSentinelFile(path: string): unknown {
  return JSON.parse(fs.readFileSync(join(path, "app", sentinelName), "utf8"));
}

test("a cache path that does not exist is an error, and is not created", async (t) => {
  const path = join(await tempDirectory(t), "missing");
  await assert.rejects(
    Store.open(path),
    withCode("cache-path", /does not exist: make it \(mkdir -p/),
  );
  assert.ok(!fs.existsSync(path));
});

test("a cache path that is a file, or below a file, is an error", async (t) => {
  const path = join(await tempDirectory(t), "file");
  fs.writeFileSync(path, "");
  await assert.rejects(Store.open(path), withCode("cache-path", /it is a file/));
  await assert.rejects(Store.open(`${path}/x`), withCode("cache-path", /not a directory/));
});

test("a cache path that is a symbolic link is an error that names the directory behind it", async (t) => {
  const path = await tempDirectory(t);
  fs.mkdirSync(join(path, "real"));
  fs.symlinkSync("real", join(path, "link"));
  const names = withCode("cache-path", /is a symbolic link: name the directory itself: .*\/real/);
  await assert.rejects(Store.open(join(path, "link")), names);
});

test("a cache path is normalised once, at the edge", async (t) => {
  const path = await tempDirectory(t);
  assert.equal((await Store.open(`${path}//`)).path, path);
  await assert.rejects(Store.open("relative"), withCode("usage", /slash/));
});

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

test("what is foreign is never replaced nor written through, and its source is not asked", async (t) => {
  const path = await tempDirectory(t);
  const target = join(path, "app");
  const refused = withCode("foreign", /never replaces: move it away or remove it by hand/);
  fs.mkdirSync(target);
  fs.writeFileSync(join(target, "a.tar"), "mine");
  await assert.rejects(fill(path, unreachable, { force: true }), refused);
  assert.equal(fs.readFileSync(join(target, "a.tar"), "utf8"), "mine");
  fs.renameSync(target, join(path, "elsewhere"));
  fs.symlinkSync("elsewhere", target);
  await assert.rejects(fill(path, unreachable), refused);
  fs.unlinkSync(target);
  fs.writeFileSync(target, "a file");
  await assert.rejects(fill(path, unreachable), refused);
  assert.deepEqual(await entriesOf(path), ["app", "elsewhere"]);
});

test("an empty directory is foreign, too", async (t) => {
  const path = await tempDirectory(t);
  fs.mkdirSync(join(path, "app"));
  await assert.rejects(fill(path, unreachable), withCode("foreign", /without a sentinel/));
});

test("what becomes foreign during a pull is not replaced", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  const open = async (): Promise<Image> => {
    fs.unlinkSync(join(path, "app", sentinelName));
    return another;
  };
  await assert.rejects(fill(path, open, { force: true }), withCode("foreign", /by hand/));
  assert.deepEqual(await entriesOf(path), ["app"]);
  assert.deepEqual(await entriesOf(join(path, "app")), ["a.tar", "b.tar"]);
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

test("a source that cannot be opened leaves nothing behind", async (t) => {
  const path = await tempDirectory(t);
  const failure = new LarderError("network", { what: "w", why: "y", todo: "t" });
  await assert.rejects(
    fill(path, () => Promise.reject(failure)),
    failure,
  );
  assert.deepEqual(await entriesOf(path), []);
});

test("an image that is refused leaves nothing behind, and the old content in place", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  const linked = imageOf([
    [
      { path: "ok", content: "ok" },
      { path: "link", type: "symlink", linkName: "/etc/passwd" },
    ],
  ]);
  await assert.rejects(fill(path, linked, { force: true }), withCode("image", /link/));
  assert.deepEqual(await entriesOf(path), ["app"]);
  assert.deepEqual(await entriesOf(join(path, "app")), [sentinelName, "a.tar", "b.tar"]);
});

test("cancelling leaves nothing behind", async (t) => {
  const path = await tempDirectory(t);
  const big = Buffer.alloc(4 * 1024 * 1024);
  const stop = new AbortController();
  const slow = imageOf([[{ path: "big", content: big }]]);
  const [layer] = slow.layers;
  assert.ok(layer);
  const endless: Image = {
    ...slow,
    layers: [
      {
        ...layer,
        async *open(signal) {
          for await (const block of layer.open(signal)) {
            yield block;
            stop.abort();
          }
        },
      },
    ],
  };
  await assert.rejects(
    fill(path, endless, { signal: stop.signal }),
    withCode("interrupted", /app/),
  );
  assert.deepEqual(await entriesOf(path), []);
});

test("a fill that is cancelled before it begins does nothing", async (t) => {
  const path = await tempDirectory(t);
  const signal = AbortSignal.abort();
  await assert.rejects(fill(path, unreachable, { signal }), withCode("interrupted", /app/));
  assert.deepEqual(await entriesOf(path), []);
});

test("a pull that cannot fit is refused before its first byte, saying how much is missing", async (t) => {
  const path = await tempDirectory(t);
  const [layer] = image.layers;
  assert.ok(layer);
  const size = 2 ** 50;
  const open = (): AsyncIterable<Buffer> => assert.fail("a layer was opened");
  const huge: Image = { ...image, layers: [{ ...layer, size, open }] };
  await assert.rejects(fill(path, huge), (error) => {
    assert.ok(error instanceof InsufficientDiskError);
    assert.ok(error.missingBytes > 2 ** 49);
    return true;
  });
  assert.deepEqual(await entriesOf(path), []);
});

test("the reserve is kept free", async (t) => {
  const path = await tempDirectory(t);
  const minFree = { percent: 100 };
  await assert.rejects(fill(path, image, { minFree }), withCode("disk", /shall stay free/));
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

test("a name that breaks the rules is refused before anything is looked at", async (t) => {
  const path = await tempDirectory(t);
  await assert.rejects(fill(path, unreachable, { name: "../x" }), withCode("usage", /"\.\.\/x"/));
});

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
