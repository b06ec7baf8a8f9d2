import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { buildImage, buildIndex } from "../../testbed/built-image.ts";
import type { BuiltImage, BuiltIndex, ImageSpec } from "../../testbed/built-image.ts";
import { manifestsOf } from "../../testbed/built-image.ts";
import { LarderError } from "../errors.ts";
import type { Content } from "./image.ts";
import { parsePlatform } from "./platform.ts";
import { resolveImage } from "./resolve.ts";

const never = new AbortController().signal;

/** Content in memory that remembers what was read. */
function contentOf(
  built: BuiltImage | BuiltIndex,
): Content & { read: Content["read"]; readOf: string[] } {
  const bytes = new Map<string, Buffer>(built.blobs);
  for (const each of manifestsOf(built)) bytes.set(each.digest, each.manifest);
  const readOf: string[] = [];
  return {
    where: "registry.example.com/app:1",
    readOf,
    read: async ({ digest }) => {
      readOf.push(digest);
      return bytes.get(digest) ?? assert.fail(`${digest} is not there`);
    },
    open: async function* ({ digest }) {
      yield bytes.get(digest) ?? assert.fail(`${digest} is not there`);
    },
  };
}

async function resolve(built: BuiltImage | BuiltIndex, want = "linux/amd64") {
  const { manifest: bytes, mediaType, digest } = built;
  const root = { bytes, descriptor: { mediaType, digest, size: bytes.length } };
  return resolveImage(contentOf(built), root, parsePlatform(want), never);
}

const image = (
  text: string,
  platform: string | null = "linux/amd64",
  spec: Partial<ImageSpec> = {},
) =>
  buildImage({
    layers: [{ entries: [{ path: text, content: text }] }],
    platform: platform === null ? null : parsePlatform(platform),
    ...spec,
  });

async function refused(
  built: BuiltImage | BuiltIndex,
  code: string,
  words: RegExp,
  want?: string,
): Promise<void> {
  await assert.rejects(resolve(built, want), (error) => {
    assert.ok(error instanceof LarderError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, words);
    assert.ok(error.message.includes("registry.example.com/app:1"));
    return true;
  });
}

suite("choosing from an index", () => {
  test("takes the entry for the wanted os and architecture", async () => {
    const index = buildIndex([{ image: image("a", "linux/arm64") }, { image: image("b") }]);
    assert.equal((await resolve(index)).digest, image("b").digest);
    assert.equal((await resolve(index)).resolved, index.digest);
  });

  test("tells variants apart", async () => {
    const [v6, v7] = [image("6", "linux/arm/v6"), image("7", "linux/arm/v7")];
    const index = buildIndex([{ image: v6 }, { image: v7 }]);
    assert.equal((await resolve(index, "linux/arm/v7")).digest, v7.digest);
    assert.equal((await resolve(index, "linux/arm/v6")).digest, v6.digest);
  });

  test("lists what there is when nothing matches, nested indexes included", async () => {
    const inner = buildIndex([
      { image: image("a", "linux/s390x") },
      { image: image("b", "linux/arm64") },
    ]);
    const index = buildIndex([{ image: inner }, { image: image("c", "windows/amd64") }]);
    await refused(index, "platform", /there is linux\/arm64.*, linux\/s390x, windows\/amd64/);
  });

  test("says so when an index lists no image at all", async () => {
    await refused(buildIndex([]), "platform", /lists no image at all/);
  });

  test("follows a nested index, and `resolved` stays the outer one", async () => {
    const inner = buildIndex([{ image: image("a") }]);
    const outer = buildIndex([{ image: inner }]);
    const found = await resolve(outer);
    assert.equal(found.digest, image("a").digest);
    assert.equal(found.resolved, outer.digest);
  });

  test("does not read a nested index that is for another platform", async () => {
    const inner = buildIndex([{ image: image("a", "linux/arm64") }]);
    const platform = parsePlatform("linux/arm64");
    const outer = buildIndex([{ image: inner, platform }, { image: image("b") }]);
    assert.equal((await resolve(outer)).digest, image("b").digest);
    const content = contentOf(outer);
    const descriptor = { mediaType: outer.mediaType, digest: outer.digest, size: 0 };
    await resolveImage(
      content,
      { descriptor, bytes: outer.manifest },
      parsePlatform("linux/amd64"),
      never,
    );
    assert.ok(!content.readOf.includes(inner.digest));
  });

  test("refuses indexes that nest more than 4 deep", async () => {
    let index = buildIndex([{ image: image("a") }]);
    for (let depth = 2; depth <= 4; depth++) index = buildIndex([{ image: index }]);
    assert.equal((await resolve(index)).digest, image("a").digest);
    await refused(buildIndex([{ image: index }]), "image", /more than 4 deep/);
  });

  test("refuses more than 64 nested indexes", async () => {
    const nested = Array.from({ length: 65 }, (_, at) => ({
      image: buildIndex([{ image: image(`${at}`, "linux/arm64") }]),
    }));
    await refused(buildIndex(nested), "image", /more than 64 nested indexes/);
  });

  test("ignores attestations, by their annotation and by their unknown platform", async () => {
    const annotations = { "vnd.docker.reference.type": "attestation-manifest" };
    const index = buildIndex([
      { image: image("x"), annotations },
      { image: image("y"), platform: { os: "unknown", architecture: "unknown" } },
      { image: image("z") },
    ]);
    assert.equal((await resolve(index)).digest, image("z").digest);
    const alone = buildIndex([{ image: image("x"), annotations }]);
    await refused(alone, "platform", /lists no image at all/);
  });

  test("takes an entry without a platform by what its config declares", async () => {
    const index = buildIndex([
      { image: image("a", "linux/arm64"), platform: null },
      { image: image("b"), platform: null },
    ]);
    assert.equal((await resolve(index)).digest, image("b").digest);
    await refused(index, "platform", /linux\/amd64/, "linux/s390x");
  });

  test("prefers an entry that names the platform to one that names none", async () => {
    const index = buildIndex([{ image: image("a"), platform: null }, { image: image("b") }]);
    assert.equal((await resolve(index)).digest, image("b").digest);
  });

  test("refuses an entry whose config declares another platform than the index says", async () => {
    const index = buildIndex([
      { image: image("a", "linux/s390x"), platform: parsePlatform("linux/amd64") },
    ]);
    await refused(index, "platform", /its config says that it is for linux\/s390x/);
  });
});

suite("a single manifest", () => {
  test("whose config declares another platform is refused, with both", async () => {
    await refused(image("a", "linux/arm64"), "platform", /for linux\/amd64.*is for linux\/arm64/);
  });

  test("whose config declares no platform is accepted", async () => {
    const found = await resolve(image("a", null));
    assert.equal(found.platform, undefined);
  });

  test("whose config declares the wanted platform is accepted", async () => {
    assert.deepEqual((await resolve(image("a"))).platform, { os: "linux", architecture: "amd64" });
  });

  test("has `digest` and `resolved` alike", async () => {
    const found = await resolve(image("a"));
    assert.equal(found.digest, found.resolved);
  });

  test("gives each layer its name, digest, size, diff ID and bytes", async () => {
    const built = buildImage({ layers: [{ entries: [] }, { entries: [{ path: "x" }] }] });
    const { layers, name } = await resolve(built);
    assert.equal(name, "registry.example.com/app:1");
    assert.equal(layers[1]?.name, "layer 2 of 2 of registry.example.com/app:1");
    assert.equal(layers[1]?.digest, built.layers[1]?.digest);
    assert.equal(layers[1]?.size, built.layers[1]?.blob.length);
    assert.equal(layers[1]?.diffId, built.layers[1]?.diffId);
    const chunks: Buffer[] = [];
    for await (const chunk of layers[1]?.open(never) ?? []) chunks.push(chunk);
    assert.deepEqual(Buffer.concat(chunks), built.layers[1]?.blob);
  });

  test("without layers is an image without layers", async () => {
    assert.deepEqual((await resolve(buildImage({ layers: [] }))).layers, []);
  });

  test("with empty layers in its history counts its diff IDs, not its history", async () => {
    const history = [{ created_by: "COPY" }, { created_by: "ENV", empty_layer: true }];
    assert.equal((await resolve(image("a", null, { config: { history } }))).layers.length, 1);
  });

  test("whose config has another number of diff IDs than it has layers is refused, with both numbers", async () => {
    const config = { rootfs: { type: "layers", diff_ids: [] } };
    await refused(image("a", null, { config }), "image", /1 layers.*0 diff IDs/);
  });
});

suite("what is not an image", () => {
  const withConfig = (mediaType: string, more = {}) => {
    const { config } = JSON.parse(image("a").manifest.toString());
    return image("a", null, { manifest: { config: { ...config, mediaType }, ...more } });
  };

  test("is refused with its media type: a helm chart", async () => {
    const chart = "application/vnd.cncf.helm.config.v1+json";
    await refused(withConfig(chart), "image", /application\/vnd\.cncf\.helm\.config\.v1\+json/);
  });

  test("is refused with its media type: an artifact", async () => {
    const artifactType = "application/vnd.example.sbom";
    const empty = withConfig("application/vnd.oci.empty.v1+json", { artifactType });
    await refused(empty, "image", /not a container image but application\/vnd\.example\.sbom/);
    const disguised = image("a", null, { manifest: { artifactType } });
    await refused(disguised, "image", /application\/vnd\.example\.sbom/);
  });

  test("is refused before its config is read", async () => {
    const built = withConfig("application/vnd.cncf.helm.config.v1+json");
    const content = contentOf(built);
    const descriptor = { mediaType: built.mediaType, digest: built.digest, size: 0 };
    const root = { descriptor, bytes: built.manifest };
    const work = resolveImage(content, root, parsePlatform("linux/amd64"), never);
    await assert.rejects(work, LarderError);
    assert.deepEqual(content.readOf, []);
  });
});

suite("layers", () => {
  const typed = (mediaType: string) =>
    buildImage({ layers: [{ entries: [] }, { entries: [], mediaType }] });

  for (const mediaType of [
    "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
    "application/vnd.oci.image.layer.nondistributable.v1.tar",
  ]) {
    test(`that are foreign or non-distributable are refused with the reason: ${mediaType}`, async () => {
      await refused(typed(mediaType), "image", /layer 2 is .*redistribute/);
    });
  }

  for (const mediaType of [
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+zstd",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
    "application/vnd.docker.image.rootfs.diff.tar.zstd",
  ]) {
    test(`of docker and OCI types are accepted: ${mediaType}`, async () => {
      assert.equal((await resolve(typed(mediaType))).layers[1]?.mediaType, mediaType);
    });
  }

  test("of an unknown kind are refused with their media type", async () => {
    const encrypted = "application/vnd.oci.image.layer.v1.tar+gzip+encrypted";
    await refused(typed(encrypted), "image", /layer 2 is .*\+encrypted/);
  });
});
