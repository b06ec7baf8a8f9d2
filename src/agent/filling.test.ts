import assert from "node:assert/strict";
import { join } from "node:path";
import * as fs from "node:fs";
import { test, type TestContext } from "node:test";

import { entriesOf } from "../../test/cache/fixture.ts";
import { client, server } from "../../test/registry/client.ts";
import { buildImage } from "../../testbed/built-image.ts";
import { cacheSpec } from "../../testbed/cache-spec.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { Store } from "../cache/store.ts";
import { fill, type FillingOptions } from "./filling.ts";

const signal = new AbortController().signal;
const image = buildImage({
  layers: [{ entries: [{ path: "a.tar", content: "alpha" }] }],
});

async function filling(t: TestContext) {
  const at = await server(t);
  at.hold("team/app", "1", image);
  const path = await tempDirectory(t);
  const { registry } = client(t, { insecure: [at.host] });
  const cache = cacheSpec({ name: "app", cachePath: path, source: `${at.host}/team/app:1` });
  const told = { bytes: 0, alive: 0, opened: 0, throttled: 0 };
  const run = (given: Partial<FillingOptions> = {}, force = false) =>
    fill(
      { cache, force, because: "absent", notBefore: 0 },
      {
        open: (where) => Store.open(where),
        registry: async () => {
          told.opened += 1;
          return registry;
        },
        platform: { os: "linux", architecture: "amd64" },
        minFree: { bytes: 0 },
        hurry: new AbortController().signal,
        throttle: (whole) => {
          told.throttled += 1;
          return whole;
        },
        received: (bytes) => {
          told.bytes += bytes;
        },
        ...given,
      },
      signal,
      () => {
        told.alive += 1;
      },
    );
  return { at, path, cache, told, run };
}

test("a resource is brought from its registry, as the agent's, and its source is kept", async (t) => {
  const { path, cache, run } = await filling(t);
  const { result, sentinel } = await run();
  assert.equal(result, "pulled");
  assert.equal(sentinel.digest, image.digest);
  assert.equal(sentinel.owner, "image-cache-agent");
  assert.equal(sentinel.source, cache.source);
  assert.equal(fs.readFileSync(join(path, "app", "a.tar"), "utf8"), "alpha");
});

test("bytes are told as the registry sends them, and every sign of life", async (t) => {
  const { told, run } = await filling(t);
  await run();
  assert.equal(told.bytes, image.layers[0]?.blob.length);
  assert.ok(told.alive >= 3, String(told.alive));
  assert.equal(told.throttled, 1);
});

test("what is complete opens no registry, unless it is to be filled anew", async (t) => {
  const { path, told, run } = await filling(t);
  await run();
  assert.equal((await run()).result, "complete");
  assert.equal(told.opened, 1);
  fs.writeFileSync(join(path, "app", "a.tar"), "ALPHA");
  assert.equal((await run({}, true)).result, "pulled");
  assert.equal(fs.readFileSync(join(path, "app", "a.tar"), "utf8"), "alpha");
});

test("what does not fit beside the reserve is refused before a layer is asked for", async (t) => {
  const { at, path, run } = await filling(t);
  const { total } = (await Store.open(path)).space();
  await assert.rejects(run({ minFree: { bytes: total } }), {
    code: "disk",
    name: "LarderError",
  });
  assert.ok(at.seen.every(({ path: asked }) => !asked.includes(image.layers[0]?.digest ?? "")));
  assert.deepEqual(await entriesOf(path), []);
});

test("a registry client that cannot be had is the pull's failure, and leaves nothing", async (t) => {
  const { path, run } = await filling(t);
  const error = new Error("no registry");
  const registry = async () => {
    throw error;
  };
  await assert.rejects(run({ registry }), /no registry/);
  assert.deepEqual(await entriesOf(path), []);
});
