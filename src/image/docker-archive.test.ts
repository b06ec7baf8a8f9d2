import assert from "node:assert/strict";
import { test } from "node:test";

import { arm64, layerBytes, opened, refused } from "../../testbed/archive-case.ts";
import {
  blobPath,
  buildImage,
  dockerArchive,
  tarOf,
  type TarSpec,
} from "../../testbed/image-builder.ts";

const base = { entries: [{ path: "images/base.tar", content: "base" }] };
const app = buildImage({
  layers: [base, { entries: [{ path: "images/app.tar", content: "app" }] }],
});
const other = buildImage({ layers: [base] });
const armApp = buildImage({ platform: arm64, layers: [base] });
const legacy = (entries: readonly TarSpec[], saved: object): Buffer =>
  tarOf([...entries, { path: "manifest.json", content: JSON.stringify([saved]) }]);

test("a docker archive's digest is that of its config, since it has no manifest", async () => {
  const bytes = dockerArchive([{ image: app, tags: [] }], { legacy: true });
  await opened(bytes, ({ image }) => {
    assert.equal(image.digest, app.configDigest);
    assert.equal(image.resolved, app.configDigest);
  });
});

test("a docker archive's layers have diff IDs and no digest", async () => {
  const bytes = dockerArchive([{ image: app, tags: ["app:1"] }], { legacy: true });
  await opened(bytes, async (archive) => {
    const { layers } = archive.image;
    assert.deepEqual(
      layers.map((layer) => layer.diffId),
      app.layers.map((layer) => layer.diffId),
    );
    assert.deepEqual(
      layers.map((layer) => layer.digest),
      [undefined, undefined],
    );
    assert.deepEqual(await layerBytes(archive, 1), app.layers[1]?.tar);
  });
});

test("a docker archive's layers may be gzip", async () => {
  const bytes = dockerArchive([{ image: app, tags: [] }], { legacy: true, storedLayers: true });
  await opened(bytes, async (archive) => {
    assert.deepEqual(await layerBytes(archive, 0), app.layers[0]?.blob);
    assert.equal(archive.image.layers[0]?.size, app.layers[0]?.blob.length);
  });
});

for (const linkedLayers of ["symlink", "hardlink"] as const) {
  test(`docker archives with linked layers are understood: ${linkedLayers}`, async () => {
    const image = buildImage({ layers: [base, { entries: [{ path: "x" }] }, base] });
    const bytes = dockerArchive([{ image, tags: ["app:1"] }], { legacy: true, linkedLayers });
    await opened(bytes, async (archive) => {
      assert.deepEqual(await layerBytes(archive, 2), image.layers[2]?.tar);
      assert.equal(archive.image.layers[2]?.size, image.layers[2]?.tar.length);
    });
  });
}

for (const linkName of ["/etc/passwd", "../../etc/passwd"]) {
  test(`a layer that is a link that leaves the archive is refused: ${linkName}`, async () => {
    const entries: TarSpec[] = [
      { path: "c.json", content: other.config },
      { path: "a/layer.tar", type: "symlink", linkName },
    ];
    const bytes = legacy(entries, { Config: "c.json", Layers: ["a/layer.tar"] });
    await refused(bytes, "image", /a\/layer\.tar .*outside the archive/);
  });
}

test("a name in manifest.json that leaves the archive finds nothing", async () => {
  for (const name of ["/etc/passwd", "../../../etc/passwd"]) {
    await refused(legacy([], { Config: name, Layers: [] }), "image", /no file of that name/);
    const config = { path: "c.json", content: other.config };
    const bytes = legacy([config], { Config: "c.json", Layers: [name] });
    await refused(bytes, "image", /does not hold its layer 1/);
  }
});

test("one image under several tags is one, in a docker archive of either style", async () => {
  const images = [{ image: app, tags: ["app:1", "other/name:2"] }];
  const twice = [...images, { image: app, tags: ["third:3"] }];
  await opened(dockerArchive(images), ({ image }) => assert.equal(image.digest, app.digest));
  for (const each of [images, twice]) {
    await opened(dockerArchive(each, { legacy: true }), ({ image }) =>
      assert.equal(image.digest, app.configDigest),
    );
  }
});

test("two images without tags in a docker archive are named by their configs", async () => {
  const images = [app, other].map((image) => ({ image, tags: [] }));
  const pattern = new RegExp(other.configDigest.slice(7));
  await refused(dockerArchive(images, { legacy: true }), "image", pattern);
});

test("a docker archive that declares another platform is refused", async () => {
  const images = [{ image: armApp, tags: ["app:1"] }];
  const says = /linux\/amd64.*linux\/arm64/;
  await refused(dockerArchive(images, { legacy: true }), "platform", says);
  await refused(dockerArchive(images), "platform", says);
});

test("a docker archive that declares no platform is accepted", async () => {
  const image = buildImage({ platform: null, layers: [base] });
  const bytes = dockerArchive([{ image, tags: ["app:1"] }], { legacy: true });
  await opened(bytes, (archive) => assert.equal(archive.image.platform, undefined));
});

test("a docker archive's config is checked against the digest in its name", async () => {
  const name = `${app.configDigest.slice(7)}.json`;
  for (const config of [name, app.configDigest, blobPath(app.configDigest)]) {
    const entries = [{ path: config, content: `${String(app.config)} ` }];
    const bytes = legacy(entries, { Config: config, Layers: [] });
    await refused(bytes, "digest", new RegExp(`expected ${app.configDigest}`));
  }
});

test("a docker archive whose layers and diff IDs differ in number is refused", async () => {
  const config = { path: "c.json", content: app.config };
  const bytes = legacy([config], { Config: "c.json", Layers: ["a/layer.tar"] });
  await refused(bytes, "image", /1 layers, but its config 2 diff IDs/);
});

test("a docker archive that lacks a layer's file is refused with its name", async () => {
  const config = { path: "c.json", content: other.config };
  const bytes = legacy([config], { Config: "c.json", Layers: ["a/layer.tar"] });
  await refused(bytes, "image", /does not hold its layer 1 \(a\/layer\.tar\)/);
});

test("a docker archive without an image is refused", async () => {
  await refused(tarOf([{ path: "manifest.json", content: "[]" }]), "image", /lists no image/);
});
