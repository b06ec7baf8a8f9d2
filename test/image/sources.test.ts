import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";

import { refusal } from "../../testbed/refusal.ts";
import type { ErrorCode } from "../../src/errors.ts";
import { amd64, arm64, never } from "../../testbed/archive-case.ts";
import { buildImage, buildIndex, type ImageSpec } from "../../testbed/image-builder.ts";
import { filesOf } from "./files-of.ts";
import { sources, type Source } from "./image-sources.ts";
import { flipped, tampered } from "./tampered.ts";

const large = randomBytes(300_000);
const lowest = {
  entries: [
    { path: "images/", type: "directory" },
    { path: "images/large.tar", content: large },
    { path: "images/hidden.tar", content: "hidden by the next layer" },
    { path: "images/replaced.tar", content: "old" },
  ],
} as const;
const next = {
  entries: [
    { path: "images/.wh.hidden.tar", content: "" },
    { path: "./images/replaced.tar", content: "new" },
  ],
};
const top = { entries: [{ path: `${"deep/".repeat(30)}top.tar`, content: "top" }] };
const files = {
  "large.tar": large,
  "replaced.tar": Buffer.from("new"),
  "top.tar": Buffer.from("top"),
};

const spec: ImageSpec = {
  layers: [lowest, { ...next, compression: "zstd" }, { ...top, compression: "none" }],
};
const app = buildImage(spec);

function suite(source: Source): void {
  const using = source.with.bind(source);
  const ignore = () => Promise.resolve();

  test("gives the files of the flattened layers, whatever they are compressed with", () =>
    using(app, amd64, async (image) => assert.deepEqual(await filesOf(image), files)));

  test("gives the files of a docker schema 2 image", () =>
    using(
      buildImage({ ...spec, docker: true, layers: [lowest, next, top] }),
      amd64,
      async (image) => assert.deepEqual(await filesOf(image), files),
    ));

  test("says digest, resolved, platform and diff IDs", () =>
    using(app, amd64, async (image) => {
      const digest = source.manifests ? app.digest : app.configDigest;
      assert.equal(image.digest, digest);
      assert.equal(image.resolved, digest);
      assert.deepEqual(image.platform, amd64);
      const diffIds = app.layers.map((layer) => layer.diffId);
      assert.deepEqual(
        image.layers.map((layer) => layer.diffId),
        diffIds,
      );
    }));

  test("says digest and size of each layer as stored", () =>
    using(app, amd64, async (image) => {
      for (const [at, layer] of image.layers.entries()) {
        const stored = source.unpacked === true ? app.layers[at]?.tar : app.layers[at]?.blob;
        assert.equal(layer.digest, source.manifests ? app.layers[at]?.digest : undefined);
        assert.equal(layer.size, stored?.length);
      }
    }));

  test("names itself and its layers for messages", () =>
    using(app, amd64, async (image) => {
      assert.match(image.name, /app/);
      assert.equal(image.layers[1]?.name, `layer 2 of 3 of ${image.name}`);
    }));

  test("opens a layer again and again, from the start, also when it was left early", () =>
    using(app, amd64, async ({ layers }) => {
      const read = async () => {
        const blocks: Buffer[] = [];
        for await (const block of layers[0]!.open(never)) blocks.push(Buffer.from(block));
        return Buffer.concat(blocks);
      };
      for await (const _ of layers[0]!.open(never)) break;
      const stored = source.unpacked === true ? app.layers[0]?.tar : app.layers[0]?.blob;
      const [one, two] = await Promise.all([read(), read()]);
      assert.deepEqual(one, stored);
      assert.deepEqual(two, stored);
    }));

  test("stops reading a layer when it is told to", () =>
    using(app, amd64, async ({ layers }) => {
      const read = async () => {
        for await (const _ of layers[0]!.open(AbortSignal.abort())) assert.fail("bytes came");
      };
      await assert.rejects(read, refusal("interrupted", /./));
    }));

  test("refuses an image whose config declares another platform", async () => {
    const image = buildImage({ ...spec, platform: arm64 });
    await assert.rejects(
      using(image, amd64, ignore),
      refusal("platform", /for linux\/amd64: .*linux\/arm64/),
    );
  });

  test("accepts an image whose config declares no platform", () =>
    using(buildImage({ ...spec, platform: null }), amd64, async ({ platform }) =>
      assert.equal(platform, undefined),
    ));

  test("refuses a layer with a changed byte, naming both digests", async () => {
    for (const at of [0, 2]) {
      const image = tampered(app, at, flipped);
      // Where layers are stored unpacked and without a digest, damaged bytes may already make no tar.
      const codes: ErrorCode[] = source.manifests ? ["digest"] : ["digest", "image"];
      await assert.rejects(using(image, amd64, filesOf), refusal(codes, /./));
    }
  });

  test("refuses a layer that is cut short", async () => {
    const image = tampered(app, 0, (bytes) => bytes.subarray(0, 100_000));
    const codes: ErrorCode[] = ["digest", "image", "network", "registry"];
    await assert.rejects(using(image, amd64, filesOf), refusal(codes, /./));
  });

  test("checks the uncompressed layer against the config's diff ID", async () => {
    const wrong = buildImage({ layers: [next, lowest, top] }).layers.map((layer) => layer.diffId);
    const rootfs = { type: "layers", diff_ids: wrong };
    const image = buildImage({ layers: [lowest, next, top], config: { rootfs } });
    await assert.rejects(
      using(image, amd64, filesOf),
      refusal("digest", /expected sha256:[0-9a-f]{64} but its bytes are sha256:[0-9a-f]{64}/),
    );
  });

  test("refuses an image whose layers and diff IDs differ in number", async () => {
    const image = buildImage({ ...spec, config: { rootfs: { type: "layers", diff_ids: [] } } });
    await assert.rejects(using(image, amd64, ignore), refusal("image", /3 layers.* 0 diff IDs/));
  });

  test("refuses an image without a file to cache", async () => {
    const image = buildImage({ layers: [{ entries: [{ path: "images/", type: "directory" }] }] });
    await assert.rejects(using(image, amd64, filesOf), refusal("image", /./));
  });

  test("reads one layer that is there twice", () =>
    using(buildImage({ layers: [lowest, next, lowest] }), amd64, async (image) => {
      const replaced = { "replaced.tar": Buffer.from("old") };
      const hidden = { "hidden.tar": Buffer.from("hidden by the next layer") };
      assert.deepEqual(await filesOf(image), { "large.tar": large, ...hidden, ...replaced });
    }));

  if (source.manifests) withManifests(source);
}

/** What only a source that holds manifests can have. */
function withManifests(source: Source): void {
  const using = source.with.bind(source);
  const ignore = () => Promise.resolve();
  const arm = buildImage({ ...spec, platform: arm64 });
  const index = buildIndex([{ image: app }, { image: arm }]);

  for (const docker of [false, true]) {
    test(`picks the platform from ${docker ? "a docker manifest list" : "an OCI index"}`, async () => {
      const images = [app, arm].map(({ platform }) =>
        buildImage({ ...spec, platform: platform!, docker }),
      );
      const list = buildIndex(
        images.map((image) => ({ image })),
        docker,
      );
      for (const [at, want] of [amd64, arm64].entries()) {
        await using(list, want, async (image) => {
          assert.equal(image.digest, images[at]?.digest);
          assert.equal(image.resolved, list.digest);
          assert.deepEqual(image.platform, want);
        });
      }
    });
  }

  test("follows a nested index", () =>
    using(buildIndex([{ image: index }]), arm64, async (image) =>
      assert.equal(image.digest, arm.digest),
    ));

  test("lists what there is when an index has no image for the platform", async () => {
    const want = { os: "linux", architecture: "s390x" };
    await assert.rejects(
      using(index, want, ignore),
      refusal("platform", /linux\/amd64, linux\/arm64/),
    );
  });

  test("ignores an index's attestation entries", async () => {
    const platform = { os: "unknown", architecture: "unknown" };
    const image = buildIndex([{ image: buildImage({ layers: [] }), platform }, { image: app }]);
    await using(image, amd64, async ({ digest }) => assert.equal(digest, app.digest));
  });

  test("refuses what is not an image with its media type", async () => {
    const mediaType = "application/vnd.cncf.helm.config.v1+json";
    const config = { mediaType, digest: app.configDigest, size: app.config.length };
    const chart = buildImage({ ...spec, manifest: { config } });
    await assert.rejects(using(chart, amd64, ignore), refusal("image", /cncf\.helm\.config/));
  });

  test("refuses a foreign layer with the reason", async () => {
    const mediaType = "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip";
    const image = buildImage({ layers: [{ ...lowest, mediaType }] });
    await assert.rejects(using(image, amd64, ignore), refusal("image", /redistribute/));
  });

  test("refuses a manifest that is not what its digest says", async () => {
    const damaged = {
      ...arm,
      manifest: Buffer.from(String(arm.manifest).replace("{", " {").slice(0, -1)),
    };
    const image = { ...index, images: [app, damaged] };
    await assert.rejects(using(image, arm64, ignore), refusal("digest", new RegExp(arm.digest)));
  });
}

for (const source of sources) describe(source.name, () => suite(source));
