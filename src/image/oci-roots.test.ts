import assert from "node:assert/strict";
import { test } from "node:test";

import { refusal } from "../../testbed/refusal.ts";
import { digestOf } from "../registry/digest.ts";
import type { Descriptor } from "../registry/image.ts";
import { ociIndex, ociManifest } from "../registry/media-types.ts";
import { chooseRoot } from "./oci-roots.ts";

const amd64 = { os: "linux", architecture: "amd64" };
const arm64 = { os: "linux", architecture: "arm64" };

function root(name: string, extra: Partial<Descriptor> = {}): Descriptor {
  return { mediaType: ociManifest, digest: digestOf(Buffer.from(name)), size: 10, ...extra };
}

function tagged(tag: string): Pick<Descriptor, "annotations"> {
  return { annotations: { "org.opencontainers.image.ref.name": tag } };
}

test("a single descriptor in index.json is the image", () => {
  const one = root("a");
  assert.deepEqual(chooseRoot([one], "app.tar"), { kind: "one", descriptor: one });
});

test("the same image under several tags in index.json is one", () => {
  const choice = chooseRoot([root("a", tagged("1")), root("a", tagged("2"))], "app.tar");
  assert.equal(choice.kind === "one" && choice.descriptor.digest, root("a").digest);
});

test("descriptors in index.json that differ only in platform are one multi-platform image", () => {
  const untagged = [root("a", { platform: amd64 }), root("b", { platform: arm64 })];
  assert.deepEqual(chooseRoot(untagged, "app.tar"), { kind: "platforms" });
  const both = untagged.map((each) => ({ ...each, ...tagged("1") }));
  assert.deepEqual(chooseRoot(both, "app.tar"), { kind: "platforms" });
});

test("a multi-platform image of index.json may have several tags, all for each platform", () => {
  const platforms = [root("a", { platform: amd64 }), root("b", { platform: arm64 })];
  const all = platforms.flatMap((each) => [
    { ...each, ...tagged("1") },
    { ...each, ...tagged("2") },
  ]);
  assert.deepEqual(chooseRoot(all, "app.tar"), { kind: "platforms" });
});

test("two images in index.json are refused, naming their tags", () => {
  const two = [root("a", tagged("app:1")), root("b", tagged("other:2"))];
  assert.throws(() => chooseRoot(two, "app.tar"), refusal("image", /2 images \(app:1, other:2\)/));
});

test("two images in index.json without tags are refused, naming their digests", () => {
  const two = [root("a"), root("b")];
  assert.throws(() => chooseRoot(two, "app.tar"), refusal("image", new RegExp(root("b").digest)));
});

test("two images in index.json with different tags are two, though for different platforms", () => {
  const two = [
    root("a", { platform: amd64, ...tagged("1") }),
    root("b", { platform: arm64, ...tagged("2") }),
  ];
  assert.throws(
    () => chooseRoot(two, "app.tar"),
    refusal("image", /1 for linux\/amd64, 2 for linux\/arm64/),
  );
});

test("two images in index.json for one platform are two", () => {
  const two = [root("a", { platform: amd64 }), root("b", { platform: amd64 })];
  assert.throws(() => chooseRoot(two, "app.tar"), refusal("image", /2 images/));
});

test("two images in index.json are two where only one says its platform", () => {
  const two = [root("a", { platform: amd64 }), root("b")];
  assert.throws(() => chooseRoot(two, "app.tar"), refusal("image", /2 images/));
});

test("an index beside a manifest in index.json is a second image", () => {
  const two = [root("a", { platform: amd64 }), root("b", { platform: arm64, mediaType: ociIndex })];
  assert.throws(() => chooseRoot(two, "app.tar"), refusal("image", /2 images/));
});

test("the full name that containerd and docker write is used to name an image", () => {
  const annotations = { "io.containerd.image.name": "docker.io/library/app:1" };
  const two = [root("a", { annotations }), root("b")];
  assert.throws(() => chooseRoot(two, "app.tar"), refusal("image", /docker\.io\/library\/app:1/));
});

test("attestations in index.json are ignored", () => {
  const unknown = { os: "unknown", architecture: "unknown" };
  const annotations = { "vnd.docker.reference.type": "attestation-manifest" };
  const choice = chooseRoot(
    [root("x", { platform: unknown }), root("a"), root("y", { annotations })],
    "app.tar",
  );
  assert.equal(choice.kind === "one" && choice.descriptor.digest, root("a").digest);
});

test("an index.json without an image is refused", () => {
  assert.throws(() => chooseRoot([], "app.tar"), refusal("image", /lists no image/));
});

test("of many images in one archive the refusal names ten and counts the rest", () => {
  const many = Array.from({ length: 25 }, (_, at) => root(`${at}`, tagged(`app:${at}`)));
  assert.throws(
    () => chooseRoot(many, "app.tar"),
    refusal("image", /25 images .*app:9 and 15 more/),
  );
});
