import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { parseReference } from "../../src/registry/reference.ts";
import { parseRewrite } from "../../src/registry/rewrite.ts";
import { buildImage, buildIndex } from "../../testbed/built-image.ts";
import { client, failureOf, pair, sample } from "./client.ts";
import type { Client } from "./client.ts";

const signal = new AbortController().signal;
const other = buildImage({ layers: [{ entries: [{ path: "x.tar", content: "x" }] }] });

function ask(from: Client, name: string, stop = signal) {
  return from.registry.resolved(parseReference(name), stop);
}

/** The misbehaving registry as it is, and one that announces the digest as ordinary ones do. */
async function announcing(t: Parameters<typeof pair>[0], serving: Parameters<typeof pair>[3] = {}) {
  const all = await pair(t, sample(), {}, serving);
  const announced = { "Docker-Content-Digest": all.image.digest };
  all.at.misbehave(/manifests/, { kind: "headers", headers: announced }, Infinity);
  const asked = () =>
    all.at.seen.filter(({ path }) => path.includes("/manifests/")).map(({ method }) => method);
  return { ...all, asked };
}

suite("what a reference names now", () => {
  test("is asked for by one HEAD request, and no byte of the manifest is sent", async (t) => {
    const { from, name, image, asked, at } = await announcing(t);
    assert.equal(await ask(from, name), image.digest);
    assert.deepEqual(asked(), ["HEAD"]);
    assert.match(at.seen[0]?.headers.accept ?? "", /image\.index/);
  });

  test("is an index's digest where the tag names one", async (t) => {
    const { from, at } = await pair(t);
    const index = buildIndex([{ image: other }]);
    at.hold("team/multi", "1", index);
    assert.equal(await ask(from, `${at.host}/team/multi:1`), index.digest);
  });

  test("is asked for by GET where the registry does not say it in a header", async (t) => {
    const { from, name, image, at } = await pair(t);
    assert.equal(await ask(from, name), image.digest);
    assert.deepEqual(
      at.seen.map(({ method }) => method),
      ["HEAD", "GET"],
    );
  });

  test("is asked for by GET where the header holds no digest", async (t) => {
    const { from, name, image, at } = await pair(t);
    const headers = { "Docker-Content-Digest": "latest" };
    at.misbehave(/manifests/, { kind: "headers", headers });
    assert.equal(await ask(from, name), image.digest);
  });

  for (const status of [403, 404, 405, 501]) {
    test(`is asked for by GET where HEAD is answered ${status}`, async (t) => {
      const { from, name, image, at } = await pair(t);
      at.misbehave(/manifests/, { kind: "answer", status });
      assert.equal(await ask(from, name), image.digest);
      assert.deepEqual(
        at.seen.map(({ method }) => method),
        ["HEAD", "GET"],
      );
    });
  }

  test("is asked for by HEAD again, not by GET, of a registry that is overloaded", async (t) => {
    const { from, name, image, at } = await pair(t);
    at.misbehave(/manifests/, { kind: "answer", status: 503 }, 3);
    assert.equal(await ask(from, name), image.digest);
    assert.equal(from.notices.filter(({ kind }) => kind === "retry").length, 3);
    const methods = at.seen.map(({ method }) => method);
    assert.deepEqual(methods.slice(0, 4), ["HEAD", "HEAD", "HEAD", "HEAD"]);
  });

  test("is asked for again where the connection drops", async (t) => {
    const { from, name, image, at } = await pair(t);
    at.misbehave(/manifests/, { kind: "drop" }, 2);
    assert.equal(await ask(from, name), image.digest);
    assert.deepEqual(
      at.seen.map(({ method }) => method),
      ["HEAD", "HEAD", "HEAD", "GET"],
    );
  });

  test("is asked for with a token where the registry wants one", async (t) => {
    const { from, name, image, asked, at } = await announcing(t, {
      authentication: { kind: "bearer" },
    });
    assert.equal(await ask(from, name), image.digest);
    assert.equal(at.tokens?.issued.length, 1);
    assert.ok(asked().every((method) => method === "HEAD"));
  });

  test("is asked for where a redirect leads, by HEAD still", async (t) => {
    const { from, name, image, at } = await pair(t);
    at.misbehave(/manifests\/1$/, { kind: "redirect", to: "/v2/team/app/manifests/moved" });
    at.manifest("team/app", "moved", image.mediaType, image.manifest);
    const headers = { "Docker-Content-Digest": image.digest };
    at.misbehave(/moved/, { kind: "headers", headers });
    assert.equal(await ask(from, name), image.digest);
    assert.deepEqual(
      at.seen.map(({ method }) => method),
      ["HEAD", "HEAD"],
    );
  });

  test("is known already where the reference has a digest: nobody is asked", async (t) => {
    const { from, at } = await pair(t);
    const name = `${at.host}/team/app:1@${other.digest}`;
    assert.equal(await ask(from, name), other.digest);
    assert.equal(at.seen.length, 0);
  });

  test("is asked for where the reference is rewritten to", async (t) => {
    const { at, image } = await pair(t);
    const from = client(t, {
      insecure: [at.host],
      rewrites: [parseRewrite(`registry.example.com=${at.host}`)],
    });
    assert.equal(await ask(from, "registry.example.com/team/app:1"), image.digest);
  });

  test("is an error with its class where there is nothing of that name", async (t) => {
    const { from, at } = await pair(t);
    const error = await failureOf(ask(from, `${at.host}/team/none:1`));
    assert.equal(error.code, "not-found");
  });

  test("is asked for no more once the signal aborts", async (t) => {
    const { from, name, at } = await pair(t);
    const error = await failureOf(ask(from, name, AbortSignal.abort()));
    assert.equal(error.code, "interrupted");
    assert.equal(at.seen.length, 0);
  });
});
