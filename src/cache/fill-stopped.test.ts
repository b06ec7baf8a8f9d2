import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { entriesOf, fill, filesImage, imageOf } from "../../test/cache/fixture.ts";
import { refusal } from "../../testbed/refusal.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { InsufficientDiskError, LarderError } from "../errors.ts";
import type { Image } from "../registry/image.ts";
import { sentinelName } from "./sentinel.ts";

const image = filesImage({ "a.tar": "alpha", "b.tar": "beta" });
const another = filesImage({ "a.tar": "other" });

async function unreachable(): Promise<Image> {
  return assert.fail("the source was asked");
}

test("what is foreign is never replaced nor written through, and its source is not asked", async (t) => {
  const path = await tempDirectory(t);
  const target = join(path, "app");
  const refused = refusal("foreign", /never replaces: move it away or remove it by hand/);
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
  await assert.rejects(fill(path, unreachable), refusal("foreign", /without a sentinel/));
});

test("what becomes foreign during a pull is not replaced", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  const open = async (): Promise<Image> => {
    fs.unlinkSync(join(path, "app", sentinelName));
    return another;
  };
  await assert.rejects(fill(path, open, { force: true }), refusal("foreign", /by hand/));
  assert.deepEqual(await entriesOf(path), ["app"]);
  assert.deepEqual(await entriesOf(join(path, "app")), ["a.tar", "b.tar"]);
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
  await assert.rejects(fill(path, linked, { force: true }), refusal("image", /link/));
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
  await assert.rejects(fill(path, endless, { signal: stop.signal }), refusal("interrupted", /app/));
  assert.deepEqual(await entriesOf(path), []);
});

test("a fill that is cancelled before it begins does nothing", async (t) => {
  const path = await tempDirectory(t);
  const signal = AbortSignal.abort();
  await assert.rejects(fill(path, unreachable, { signal }), refusal("interrupted", /app/));
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
  await assert.rejects(fill(path, image, { minFree }), refusal("disk", /shall stay free/));
});

test("a name that breaks the rules is refused before anything is looked at", async (t) => {
  const path = await tempDirectory(t);
  await assert.rejects(fill(path, unreachable, { name: "../x" }), refusal("usage", /"\.\.\/x"/));
});

test("a cancelled fill that may not clean up for long says what it left, and the next one removes that", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  const many = filesImage(
    Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`${n}.tar`, "x"])),
  );
  const stop = new AbortController();
  const hurry = AbortSignal.abort();
  const progress = {
    layerStarted: () => {},
    layerRead: () => {},
    layerDone: () => stop.abort(),
  };
  await assert.rejects(
    fill(path, many, { force: true, signal: stop.signal, hurry, progress }),
    refusal(
      "interrupted",
      /cannot remove all of .*: it was told to stop, and there are more files/,
    ),
  );
  assert.equal((await entriesOf(path)).length, 2);
  assert.deepEqual(await entriesOf(join(path, "app")), [sentinelName, "a.tar", "b.tar"]);
  assert.equal((await fill(path, image)).result, "complete");
  assert.deepEqual(await entriesOf(path), ["app"]);
});
