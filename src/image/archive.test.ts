import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";

import { refusal } from "../../testbed/refusal.ts";
import {
  amd64,
  arm64,
  changed,
  layerBytes,
  never,
  opened,
  refused,
  inDirectory,
} from "../../testbed/archive-case.ts";
import {
  blobPath,
  buildImage,
  buildIndex,
  dockerArchive,
  ociArchive,
  ociLayoutFiles,
  tarOf,
  writeOciLayout,
} from "../../testbed/image-builder.ts";
import { openArchive, type Archive } from "./archive.ts";

const base = { entries: [{ path: "images/base.tar", content: "base" }] };
const app = buildImage({
  layers: [base, { entries: [{ path: "images/app.tar", content: "app" }] }],
});
const other = buildImage({ layers: [base] });
const armApp = buildImage({ platform: arm64, layers: [base] });
const index = buildIndex([{ image: app }, { image: armApp }]);

test("the content of an archive decides its kind, not its name", async () => {
  const docker = dockerArchive([{ image: app, tags: ["app:1"] }], { legacy: true });
  const cases: [Buffer, string, Archive["kind"]][] = [
    [docker, "oci-layout.zip", "docker archive"],
    [ociArchive([{ image: app }]), "docker.tar.gz", "OCI archive"],
    [gzipSync(docker), "plain.tar", "docker archive"],
    [zstdCompressSync(ociArchive([{ image: app }])), "plain.tgz", "OCI archive"],
  ];
  for (const [bytes, name, kind] of cases) {
    await opened(bytes, (archive) => assert.equal(archive.kind, kind), { name });
  }
});

test("a directory with an oci-layout file is an OCI layout directory", () =>
  inDirectory(async (dir) => {
    await writeOciLayout(join(dir, "layout"), [{ image: app, tag: "1" }]);
    const archive = await openArchive(join(dir, "layout"), amd64, never);
    assert.equal(archive.kind, "OCI layout directory");
    assert.equal(archive.image.digest, app.digest);
    assert.deepEqual(await layerBytes(archive, 1), app.layers[1]?.blob);
    await archive.close();
  }));

test("an archive of two images is refused, naming them", async () => {
  const images = [
    { image: app, tags: ["app:1"] },
    { image: other, tags: ["other:2"] },
  ];
  const named = /2 images \(.*app:1, .*other:2\)/;
  await refused(dockerArchive(images, { legacy: true }), "image", named);
  await refused(dockerArchive(images), "image", named);
  await refused(
    ociArchive([
      { image: app, tag: "app:1" },
      { image: other, tag: "other:2" },
    ]),
    "image",
    named,
  );
});

test("the OCI side of what docker save writes is preferred when its blobs are all there", async () => {
  await opened(dockerArchive([{ image: app, tags: ["app:1"] }]), (archive) => {
    assert.equal(archive.kind, "OCI archive");
    assert.equal(archive.image.digest, app.digest);
  });
});

test("of a docker save that lacks its manifest's blob, manifest.json is used", async () => {
  const saved = [
    {
      Config: blobPath(app.configDigest),
      RepoTags: ["app:1"],
      Layers: app.layers.map(({ digest }) => blobPath(digest)),
    },
  ];
  const bytes = changed(ociLayoutFiles([{ image: index, tag: "1" }]), {
    "manifest.json": JSON.stringify(saved),
    [blobPath(app.digest)]: undefined,
  });
  await opened(bytes, (archive) => {
    assert.equal(archive.kind, "docker archive");
    assert.equal(archive.image.digest, app.configDigest);
    assert.equal(archive.image.layers.length, 2);
  });
});

test("a docker save of a multi-platform image without the wanted platform's blobs is refused by its platform", async () => {
  const saved = [
    {
      Config: blobPath(app.configDigest),
      Layers: app.layers.map(({ digest }) => blobPath(digest)),
    },
  ];
  const bytes = changed(ociLayoutFiles([{ image: index, tag: "1" }]), {
    "manifest.json": JSON.stringify(saved),
    [blobPath(armApp.digest)]: undefined,
  });
  await refused(bytes, "platform", /linux\/arm64.*linux\/amd64/, arm64);
});

test("index.json, manifest.json and oci-layout are read up to 8 MiB", async () => {
  const huge = Buffer.alloc(8 * 1024 * 1024 + 1, 0x20);
  const files = ociLayoutFiles([{ image: app }]);
  for (const name of ["index.json", "oci-layout"]) {
    await refused(
      changed(files, { [name]: huge }),
      "image",
      /8388609 bytes, more than the 8388608/,
    );
  }
  await refused(
    tarOf([{ path: "manifest.json", content: huge }]),
    "image",
    /more than the 8388608/,
  );
});

test("what an archive says is printed with control characters escaped", async () => {
  const images = [
    { image: app, tags: ["\u001b[2Japp:1\n"] },
    { image: other, tags: ["b:2"] },
  ];
  await refused(dockerArchive(images, { legacy: true }), "image", /\(\\x1b\[2Japp:1\\x0a, b:2\)/);
});

test("an archive that is not there is an error of the disk that names its path", () =>
  inDirectory(async (dir) => {
    const path = join(dir, "none.tar");
    await assert.rejects(
      openArchive(path, amd64, never),
      refusal("disk", new RegExp(`cannot read ${path}: no such file or directory`)),
    );
  }));

test("an archive may be given by a symbolic link", () =>
  inDirectory(async (dir) => {
    const link = join(dir, "link.tar");
    await writeFile(join(dir, "target.tar"), ociArchive([{ image: app }]));
    await symlink("target.tar", link);
    const archive = await openArchive(link, amd64, never);
    assert.equal(archive.image.digest, app.digest);
    await archive.close();
  }));

test("a pipe, a device and a socket are refused by what they are, without waiting for them", () =>
  inDirectory(async (dir) => {
    execFileSync("mkfifo", [join(dir, "pipe")]);
    const server = createServer().listen(join(dir, "socket"));
    await once(server, "listening");
    const kinds = [
      [join(dir, "pipe"), /a pipe/],
      ["/dev/zero", /a character device/],
      [join(dir, "socket"), /a socket/],
    ] as const;
    for (const [path, pattern] of kinds) {
      await assert.rejects(openArchive(path, amd64, never), refusal("image", pattern));
    }
    server.close();
  }));

test("an empty file and an empty tar are refused", async () => {
  await refused(Buffer.alloc(0), "image", /it is empty/);
  await refused(tarOf([]), "image", /holds no file at all/);
});

test("a directory that is no OCI layout is refused", () =>
  inDirectory(async (dir) => {
    await assert.rejects(openArchive(dir, amd64, never), refusal("image", /without an oci-layout/));
  }));

test("an archive compressed in small pieces is told by its first block all the same", async () => {
  const bytes = ociArchive([{ image: app }]);
  const pieces = [bytes.subarray(0, 100), bytes.subarray(100, 300), bytes.subarray(300)];
  await opened(Buffer.concat(pieces.map((piece) => gzipSync(piece))), ({ image }) =>
    assert.equal(image.digest, app.digest),
  );
  await refused(gzipSync("short"), "image", /not a tar archive/);
});

test("opening an archive stops when it is told to", () =>
  inDirectory(async (dir) => {
    const path = join(dir, "stop.tar");
    await writeFile(path, ociArchive([{ image: app }]));
    await assert.rejects(
      openArchive(path, amd64, AbortSignal.abort()),
      refusal("interrupted", /told to stop/),
    );
  }));

test("an archive that is refused is closed, and so is one that was used", async () => {
  const open = async () => (await readdir("/proc/self/fd")).length;
  const before = await open();
  await refused(tarOf([]), "image", /./);
  await refused(Buffer.from("no tar"), "image", /./);
  await refused(ociArchive([{ image: armApp }]), "platform", /./);
  await opened(ociArchive([{ image: app }]), async (archive) => {
    for await (const _ of archive.image.layers[0]!.open(never)) break;
  });
  assert.equal(await open(), before);
});
