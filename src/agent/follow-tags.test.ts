import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { client, sample, server } from "../../test/registry/client.ts";
import { buildImage, buildIndex } from "../../testbed/built-image.ts";
import { cacheSpec } from "../../testbed/cache-spec.ts";
import type { LarderError } from "../errors.ts";
import type { Sentinel } from "../cache/sentinel.ts";
import type { CacheSpec } from "./cache-spec.ts";
import { movedTags, type Followed } from "./follow-tags.ts";

const signal = new AbortController().signal;
const platform = { os: "linux", architecture: "amd64" };
const image = sample();
const index = buildIndex([{ image }]);
const other = buildImage({ layers: [{ entries: [{ path: "x.tar", content: "x" }] }] });

/** A registry whose `team/app:1` is an index, and who asks it. */
async function following(t: TestContext) {
  const at = await server(t);
  at.hold("team/app", "1", index);
  const { registry } = client(t, { insecure: [at.host] });
  const recorded: [string, unknown][] = [];
  const failed: [string, string][] = [];
  const app = cacheSpec({ name: "app", source: `${at.host}/team/app:1` });
  const ask = (followed: readonly Followed[], stop = signal) =>
    movedTags(
      followed,
      {
        registry: async () => registry,
        platform,
        record: async ({ name }: CacheSpec, digests) => {
          recorded.push([name, digests]);
        },
        failed: ({ name }: CacheSpec, { code }: LarderError) => {
          failed.push([name, code]);
        },
      },
      stop,
    );
  const asked = () => at.seen.map(({ method, path }) => `${method} ${path}`);
  return { at, app, ask, asked, recorded, failed };
}

function sentinel(given: Partial<Sentinel> = {}): Sentinel {
  return { digest: image.digest, files: [], resolved: index.digest, ...given };
}

test("a tag that names what it named has not moved, which costs one HEAD", async (t) => {
  const { at, app, ask, asked } = await following(t);
  const headers = { "Docker-Content-Digest": index.digest };
  at.misbehave(/manifests/, { kind: "headers", headers });
  assert.deepEqual(await ask([{ cache: app, sentinel: sentinel() }]), []);
  assert.deepEqual(asked(), ["HEAD /v2/team/app/manifests/1"]);
});

test("a tag that names another image has moved", async (t) => {
  const { at, app, ask } = await following(t);
  at.hold("team/app", "1", other);
  assert.deepEqual(await ask([{ cache: app, sentinel: sentinel() }]), [app]);
});

test("a source with a digest is never asked for", async (t) => {
  const { at, app, ask } = await following(t);
  const cache = { ...app, source: `${app.source}@${other.digest}` };
  assert.deepEqual(await ask([{ cache, sentinel: sentinel() }]), []);
  assert.equal(at.seen.length, 0);
});

test("where an older agent did not say what the tag named, it is recorded, if the image is the same", async (t) => {
  const { app, ask, recorded } = await following(t);
  const { resolved: _, ...old } = sentinel();
  assert.deepEqual(await ask([{ cache: app, sentinel: old }]), []);
  assert.deepEqual(recorded, [["app", { digest: image.digest, resolved: index.digest }]]);
});

test("where an older agent did not say what the tag named, another image has moved", async (t) => {
  const { app, ask, recorded } = await following(t);
  const { resolved: _, ...old } = sentinel({ digest: other.digest });
  assert.deepEqual(await ask([{ cache: app, sentinel: old }]), [app]);
  assert.deepEqual(recorded, []);
});

test("a question without an answer is told, moves nothing, and holds up no other", async (t) => {
  const { at, app, ask, failed } = await following(t);
  at.hold("team/moved", "1", other);
  const gone = cacheSpec({ name: "gone", source: `${at.host}/team/none:1` });
  const odd = cacheSpec({ name: "odd", source: "UPPER:1" });
  const moved = cacheSpec({ name: "moved", source: `${at.host}/team/moved:1` });
  const all = [gone, odd, moved, app].map((cache) => ({ cache, sentinel: sentinel() }));
  assert.deepEqual(await ask(all), [moved]);
  assert.deepEqual(failed, [
    ["gone", "not-found"],
    ["odd", "reference"],
  ]);
});

test("an abort ends all questions", async (t) => {
  const { app, ask, failed } = await following(t);
  const reason = new Error("stop");
  const asking = ask([{ cache: app, sentinel: sentinel() }], AbortSignal.abort(reason));
  await assert.rejects(asking, reason);
  assert.deepEqual(failed, []);
});
