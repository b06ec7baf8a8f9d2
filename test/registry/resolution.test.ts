import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { digestOf } from "../../src/registry/digest.ts";
import { parsePlatform } from "../../src/registry/platform.ts";
import { parseReference } from "../../src/registry/reference.ts";
import { parseRewrite } from "../../src/registry/rewrite.ts";
import { buildImage, buildIndex } from "../../testbed/built-image.ts";
import { until } from "../../testbed/until.ts";
import { amd64, bytesOf, client, failureOf, pair, sample, server } from "./client.ts";

const layer = (text: string) => ({ entries: [{ path: "a.tar", content: text }] });
const imageFor = (text: string, platform: string | null = "linux/amd64", docker = false) =>
  buildImage({
    layers: [layer(text)],
    platform: platform === null ? null : parsePlatform(platform),
    docker,
  });

suite("resolution at a registry", () => {
  for (const docker of [false, true]) {
    const kind = docker ? "a docker schema 2 manifest" : "an OCI manifest";
    test(`${kind} is accepted`, async (t) => {
      const built = imageFor("x", "linux/amd64", docker);
      const { from, name } = await pair(t, built);
      const image = await from.image(name);
      assert.equal(image.digest, built.digest);
      assert.equal(image.resolved, built.digest);
      assert.deepEqual(await bytesOf(image.layers[0]), built.layers[0]?.blob);
    });

    const indexKind = docker ? "a docker manifest list" : "an OCI index";
    test(`${indexKind} is accepted, and the platform picked from it`, async (t) => {
      const { at, from } = await pair(t);
      const wanted = imageFor("amd64", "linux/amd64", docker);
      const other = imageFor("arm64", "linux/arm64", docker);
      const index = buildIndex([{ image: other }, { image: wanted }], docker);
      at.hold("team/multi", "1", index);
      const image = await from.image(`${at.host}/team/multi:1`);
      assert.equal(image.digest, wanted.digest);
      assert.equal(image.resolved, index.digest);
      assert.deepEqual(image.platform, amd64);
    });
  }

  test("what is asked for is said in the Accept header: both kinds of index and of manifest", async (t) => {
    const { at, from, name } = await pair(t);
    await from.image(name);
    const accept = at.seen.find(({ path }) => path.includes("/manifests/"))?.headers.accept ?? "";
    assert.deepEqual(accept.split(", ").sort(), [
      "application/vnd.docker.distribution.manifest.list.v2+json",
      "application/vnd.docker.distribution.manifest.v2+json",
      "application/vnd.oci.image.index.v1+json",
      "application/vnd.oci.image.manifest.v1+json",
    ]);
  });

  test("a digest in the reference decides, whatever the tag", async (t) => {
    const { at, from } = await pair(t);
    const [old, current] = [imageFor("old"), imageFor("new")];
    at.hold("team/app", "moving", old);
    at.hold("team/app", "moving", current);
    const image = await from.image(`${at.host}/team/app:moving@${old.digest}`);
    assert.equal(image.digest, old.digest);
  });

  test("a manifest that is not what its digest in the reference says is an error with both digests", async (t) => {
    const { at, from } = await pair(t);
    const [asked, served] = [imageFor("asked"), imageFor("served")];
    at.manifest("team/app", asked.digest, served.mediaType, served.manifest);
    const error = await failureOf(from.image(`${at.host}/team/app@${asked.digest}`));
    assert.equal(error.code, "digest");
    assert.ok(error.message.includes(asked.digest) && error.message.includes(served.digest));
  });

  test("a sha512 digest in the reference is checked as one", async (t) => {
    const { at, from } = await pair(t);
    const built = imageFor("x");
    const digest = digestOf(built.manifest, "sha512");
    at.hold("team/app", digest, built);
    const image = await from.image(`${at.host}/team/app@${digest}`);
    assert.equal(image.digest, digest);
    at.manifest("team/app", digest, built.mediaType, imageFor("y").manifest);
    assert.equal((await failureOf(from.image(`${at.host}/team/app@${digest}`))).code, "digest");
  });

  test("a manifest by tag is checked against the digest that the registry announces", async (t) => {
    const { at, from, name } = await pair(t);
    const announced = digestOf(Buffer.from("something else"));
    const headers = { "Docker-Content-Digest": announced };
    at.misbehave(/manifests\/1/, { kind: "headers", headers });
    const error = await failureOf(from.image(name));
    assert.equal(error.code, "digest");
    assert.ok(error.message.includes(announced));
  });

  test("a Content-Encoding header changes nothing for a manifest or a config: their digests are of the bytes as sent", async (t) => {
    const { at, from, name, image } = await pair(t);
    const headers = { "Content-Encoding": "gzip" };
    at.misbehave(/\/manifests\//, { kind: "headers", headers });
    at.misbehave(/\/blobs\//, { kind: "headers", headers });
    assert.equal((await from.image(name)).digest, image.digest);
    for (const seen of at.seen) assert.equal(seen.headers["accept-encoding"], "identity");
  });

  test("a manifest from an index is checked against its digest and size there", async (t) => {
    const { at, from } = await pair(t);
    const built = imageFor("x");
    at.hold("team/multi", "1", buildIndex([{ image: built }]));
    const same = Buffer.from(built.manifest);
    same[same.length - 1] = 32;
    at.misbehave(new RegExp(`manifests/${built.digest}`), { kind: "bytes", body: same });
    const changed = await failureOf(from.image(`${at.host}/team/multi:1`));
    assert.equal(changed.code, "digest");
    assert.ok(changed.message.includes(built.digest) && changed.message.includes(digestOf(same)));
    const shorter = built.manifest.subarray(1);
    at.misbehave(new RegExp(`manifests/${built.digest}`), { kind: "bytes", body: shorter });
    const cut = await failureOf(from.image(`${at.host}/team/multi:1`));
    assert.equal(cut.code, "digest");
    assert.match(cut.message, new RegExp(`${built.manifest.length}.* ${shorter.length}`));
  });

  test("a config that is not what its digest says is an error with both digests", async (t) => {
    const { at, from, name, image } = await pair(t);
    const other = Buffer.from(image.config);
    other[other.length - 1] = 32;
    at.misbehave(new RegExp(image.configDigest), { kind: "bytes", body: other });
    const error = await failureOf(from.image(name));
    assert.equal(error.code, "digest");
    assert.ok(error.message.includes(image.configDigest));
    assert.ok(error.message.includes(digestOf(other)));
  });

  test("a config longer than declared is not read further, and is an error naming its size", async (t) => {
    const { at, from, name, image } = await pair(t);
    const longer = Buffer.concat([image.config, Buffer.alloc(100, 32)]);
    at.misbehave(new RegExp(image.configDigest), { kind: "bytes", body: longer });
    const error = await failureOf(from.image(name));
    assert.equal(error.code, "digest");
    assert.ok(error.message.includes(`${image.config.length} bytes`));
  });

  test("a nested index is followed", async (t) => {
    const { at, from } = await pair(t);
    const built = imageFor("deep");
    const inner = buildIndex([{ image: imageFor("arm", "linux/arm64") }, { image: built }]);
    at.hold("team/multi", "1", buildIndex([{ image: inner }]));
    assert.equal((await from.image(`${at.host}/team/multi:1`)).digest, built.digest);
  });

  test("an image without a media type in its manifest is taken by what the registry says it is", async (t) => {
    const built = buildImage({ layers: [layer("x")], manifest: { mediaType: undefined } });
    const { from, name } = await pair(t, built);
    assert.equal((await from.image(name)).digest, built.digest);
  });

  test("a media type that differs from the Content-Type is refused, with both", async (t) => {
    const { at, from, image } = await pair(t);
    const index = "application/vnd.oci.image.index.v1+json";
    at.manifest("team/app", "odd", index, image.manifest);
    const error = await failureOf(from.image(`${at.host}/team/app:odd`));
    assert.equal(error.code, "image");
    assert.ok(error.message.includes(index) && error.message.includes(image.mediaType));
  });

  test("a Content-Type that says nothing (application/json, with a charset) leaves it to the manifest", async (t) => {
    const { at, from, image } = await pair(t);
    at.manifest("team/app", "odd", "application/json; charset=utf-8", image.manifest);
    assert.equal((await from.image(`${at.host}/team/app:odd`)).digest, image.digest);
  });

  test("an unknown repository or tag is not-found, with registry, repository and tag", async (t) => {
    const { at, from } = await pair(t);
    const error = await failureOf(from.image(`${at.host}/team/nothing:7`));
    assert.equal(error.code, "not-found");
    assert.ok(error.message.includes(`${at.host}/team/nothing:7`));
    assert.match(error.message, /404 Not Found/);
  });

  test("a rewritten reference is fetched from where the rule says, and errors name both", async (t) => {
    const { at, image } = await pair(t);
    const rewrites = [parseRewrite(`registry.example.com=${at.host}`)];
    const from = client(t, { rewrites, insecure: [at.host] });
    assert.equal((await from.image("registry.example.com/team/app:1")).digest, image.digest);
    const error = await failureOf(from.image("registry.example.com/team/app:9"));
    assert.ok(error.message.includes(`${at.host}/team/app:9`));
    assert.ok(error.message.includes("registry.example.com/team/app:9"));
  });

  test("docker.io is reached at registry-1.docker.io", async (t) => {
    const { from } = { from: client(t, { lookup: unknownHost }) };
    const error = await failureOf(from.image("busybox:1"));
    assert.equal(error.code, "network");
    assert.ok(
      error.message.includes("https://registry-1.docker.io/v2/library/busybox/manifests/1"),
    );
  });

  test("an IPv6 registry in brackets is reached", async (t) => {
    const at = await server(t, { address: "::1" });
    const built = sample();
    at.hold("team/app", "1", built);
    const from = client(t, { insecure: [at.host] });
    const image = await from.image(`${at.host}/team/app:1`);
    assert.deepEqual(await bytesOf(image.layers[0]), built.layers[0]?.blob);
  });

  test("a platform that an index does not have is refused with what there is", async (t) => {
    const { at, from } = await pair(t);
    at.hold("team/multi", "1", buildIndex([{ image: imageFor("x", "linux/s390x") }]));
    const error = await failureOf(from.image(`${at.host}/team/multi:1`));
    assert.equal(error.code, "platform");
    assert.match(error.message, /linux\/amd64.*linux\/s390x/);
  });

  test("resolving reads no layer", async (t) => {
    const { at, from, name, image } = await pair(t);
    await from.image(name);
    assert.ok(!at.seen.some(({ path }) => path.includes(image.layers[0]?.digest ?? "none")));
  });

  test("an interrupted resolution says so and asks nothing further", async (t) => {
    const { at, from, name } = await pair(t);
    at.misbehave(/manifests/, { kind: "stall" });
    const stop = new AbortController();
    const pulled = failureOf(from.registry.image(parseReference(name), amd64, stop.signal));
    await until("the registry is asked", () => at.seen.length > 0);
    stop.abort();
    assert.equal((await pulled).code, "interrupted");
  });
});

const unknownHost = (
  hostname: string,
  _: unknown,
  callback: (error: NodeJS.ErrnoException, address: string) => void,
): void => {
  const error = new Error(`getaddrinfo ENOTFOUND ${hostname}`);
  callback(Object.assign(error, { code: "ENOTFOUND" }), "");
};
