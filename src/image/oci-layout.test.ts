import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { refusal } from "../../testbed/refusal.ts";
import {
  amd64,
  arm64,
  changed,
  never,
  opened,
  refused,
  inDirectory,
} from "../../testbed/archive-case.ts";
import {
  blobPath,
  buildImage,
  buildIndex,
  ociArchive,
  ociLayoutFiles,
  writeOciLayout,
} from "../../testbed/image-builder.ts";
import { openArchive } from "./archive.ts";

const base = { entries: [{ path: "images/base.tar", content: "base" }] };
const app = buildImage({
  layers: [base, { entries: [{ path: "images/app.tar", content: "app" }] }],
});
const armApp = buildImage({ platform: arm64, layers: [base] });
const index = buildIndex([{ image: app }, { image: armApp }]);

test("an OCI archive of an index resolves to the index's digest, its digest is the manifest's", async () => {
  const bytes = ociArchive([{ image: index, tag: "1" }]);
  await opened(bytes, ({ image }) => {
    assert.equal(image.digest, app.digest);
    assert.equal(image.resolved, index.digest);
  });
  const want = { want: arm64 };
  await opened(bytes, ({ image }) => assert.equal(image.digest, armApp.digest), want);
});

test("descriptors in index.json that differ only in platform are one image, resolved to its manifest", async () => {
  const bytes = ociArchive([
    { image: app, tag: "1", platform: amd64 },
    { image: armApp, tag: "1", platform: arm64 },
  ]);
  for (const [want, image] of [
    [amd64, app],
    [arm64, armApp],
  ] as const) {
    await opened(
      bytes,
      (archive) => {
        assert.equal(archive.image.digest, image.digest);
        assert.equal(archive.image.resolved, image.digest);
      },
      { want },
    );
  }
});

test("an archive that has no image for the platform says what there is", async () => {
  const riscv = { os: "linux", architecture: "riscv64" };
  const listed = [
    { image: app, platform: amd64 },
    { image: armApp, platform: arm64 },
  ];
  const says = /linux\/amd64, linux\/arm64/;
  await refused(ociArchive([{ image: index }]), "platform", says, riscv);
  await refused(ociArchive(listed), "platform", says, riscv);
});

test("attestations that docker save keeps beside the image are ignored", async () => {
  const attestation = buildImage({
    layers: [{ entries: [], mediaType: "application/vnd.in-toto+json" }],
  });
  const annotations = { "vnd.docker.reference.type": "attestation-manifest" };
  const platform = { os: "unknown", architecture: "unknown" };
  const image = buildIndex([{ image: app }, { image: attestation, platform, annotations }]);
  await opened(ociArchive([{ image, tag: "1" }]), (archive) =>
    assert.equal(archive.image.digest, app.digest),
  );
});

test("an index whose blobs for the wanted platform are missing says so", async () => {
  const files = ociLayoutFiles([{ image: index, tag: "1" }]);
  const missing = /for linux\/arm64.*does not hold it.*pull the image for linux\/arm64/;
  await refused(changed(files, { [blobPath(armApp.digest)]: undefined }), "image", missing, arm64);
  await refused(
    changed(files, { [blobPath(armApp.configDigest)]: undefined }),
    "image",
    missing,
    arm64,
  );
});

test("a missing layer is found when the archive is opened, not while it is unpacked", async () => {
  const lacking = { [blobPath(app.layers[1]!.digest)]: undefined };
  await refused(changed(ociLayoutFiles([{ image: app }]), lacking), "image", /does not hold it/);
});

test("a blob of another size than declared is refused with both sizes", async () => {
  const files = ociLayoutFiles([{ image: app }]);
  const size = app.layers[1]!.blob.length;
  const short = { [blobPath(app.layers[1]!.digest)]: "short" };
  await refused(changed(files, short), "digest", new RegExp(`${size} bytes but it has 5`));
});

test("a manifest or config that is not what its digest says is refused with both digests", async () => {
  for (const [digest, bytes] of [
    [app.digest, app.manifest],
    [app.configDigest, app.config],
  ] as const) {
    const damaged = Buffer.from(bytes);
    damaged[bytes.length - 2] = 0x20;
    const archive = changed(ociLayoutFiles([{ image: app }]), { [blobPath(digest)]: damaged });
    await refused(archive, "digest", new RegExp(`expected ${digest} but its bytes are sha256:`));
  }
});

test("an OCI layout of another version is refused with the version", async () => {
  const files = ociLayoutFiles([{ image: app }]);
  const version = { "oci-layout": '{"imageLayoutVersion":"2.0.0"}' };
  await refused(changed(files, version), "image", /version 2\.0\.0, and Larder reads version 1/);
  await refused(changed(files, { "oci-layout": "{}" }), "image", /names no version/);
});

test("an OCI layout without index.json is refused", async () => {
  const files = ociLayoutFiles([{ image: app }]);
  const lacking = changed(files, { "index.json": undefined });
  await refused(lacking, "image", /index\.json .*no file of that name/);
});

test("a digest in index.json that is a path is refused", async () => {
  const digest = "sha256:../../../etc/passwd";
  const manifests = [{ mediaType: app.mediaType, digest, size: 1 }];
  const hostile = { "index.json": JSON.stringify({ schemaVersion: 2, manifests }) };
  const bytes = changed(ociLayoutFiles([{ image: app }]), hostile);
  await refused(bytes, "image", /digest/);
});

for (const name of [
  "oci-layout",
  "index.json",
  blobPath(app.digest),
  blobPath(app.layers[0]!.digest),
]) {
  test(`a symbolic link in an OCI layout directory is not followed: ${name.slice(0, 18)}`, () =>
    inDirectory(async (layout) => {
      await writeOciLayout(layout, [{ image: app }]);
      await writeFile(join(layout, "elsewhere"), ociLayoutFiles([{ image: app }]).get(name)!);
      await rm(join(layout, name));
      await symlink(join(layout, "elsewhere"), join(layout, name));
      await assert.rejects(openArchive(layout, amd64, never), refusal("image", /symbolic link/));
    }));
}

test("a pipe in place of a blob of an OCI layout directory is refused, without waiting for it", () =>
  inDirectory(async (layout) => {
    await writeOciLayout(layout, [{ image: app }]);
    await rm(join(layout, blobPath(app.configDigest)));
    execFileSync("mkfifo", [join(layout, blobPath(app.configDigest))]);
    await assert.rejects(openArchive(layout, amd64, never), refusal("image", /a pipe/));
  }));
