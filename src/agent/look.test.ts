import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { fill, filesImage } from "../../test/cache/fixture.ts";
import { cacheSpec } from "../../testbed/cache-spec.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { Store } from "../cache/store.ts";
import { lookAt } from "./look.ts";

const image = filesImage({ "a.tar": "alpha" });
const signal = new AbortController().signal;

async function looking(t: TestContext) {
  const path = await tempDirectory(t);
  const cache = cacheSpec({ name: "app", cachePath: path });
  return { path, cache, look: (at = cache) => lookAt(at, (where) => Store.open(where), signal) };
}

test("what is whole is complete, with its sentinel", async (t) => {
  const { path, cache, look } = await looking(t);
  await fill(path, image, { source: cache.source });
  const seen = await look();
  assert.equal(seen.kind, "complete");
  assert.equal(seen.sentinel.digest, image.digest);
});

test("each other state says why, so that an event and a log can", async (t) => {
  const { path, cache, look } = await looking(t);
  assert.deepEqual(await look(), { kind: "absent", why: "nothing stands there" });
  fs.writeFileSync(join(path, "app"), "mine");
  assert.deepEqual(await look(), { kind: "foreign", why: "it is a file" });
  fs.rmSync(join(path, "app"));
  await fill(path, image, { source: cache.source });
  const stale = await look({ ...cache, source: "registry.example.com/app:2" });
  assert.equal(stale.kind, "stale");
  assert.match(stale.why, /app:1/);
  fs.truncateSync(join(path, "app", "a.tar"), 1);
  const incomplete = await look();
  assert.equal(incomplete.kind, "incomplete");
  assert.match(incomplete.why, /a\.tar/);
});

test("a cache path that cannot be used is a look that failed, not an error", async (t) => {
  const { path, look } = await looking(t);
  fs.rmdirSync(path);
  const seen = await look();
  assert.equal(seen.kind, "failed");
  assert.ok(seen.why.includes(path));
});

test("an abort is not a look that failed", async (t) => {
  const { path, cache } = await looking(t);
  fs.rmdirSync(path);
  const reason = new Error("stop");
  await assert.rejects(
    lookAt(cache, (where) => Store.open(where), AbortSignal.abort(reason)),
    reason,
  );
});

test("a fault of Larder's own is not taken for a state of the disk", async () => {
  const fault = new TypeError("no such method");
  const broken = async (): Promise<Store> => {
    throw fault;
  };
  await assert.rejects(lookAt(cacheSpec({ name: "a" }), broken, signal), fault);
});
