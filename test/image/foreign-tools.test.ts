import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { openArchive } from "../../src/image/archive.ts";
import { amd64, inDirectory, never } from "../../testbed/archive-case.ts";
import { buildImage, dockerArchive, writeOciLayout } from "../../testbed/image-builder.ts";
import { filesOf } from "./files-of.ts";

const app = buildImage({
  layers: [
    {
      entries: [
        { path: "images/a.tar", content: "a" },
        { path: "images/b.tar", content: "b" },
      ],
    },
    { entries: [{ path: "images/.wh.b.tar" }, { path: "images/c.tar", content: "c" }] },
    {
      entries: [
        { path: "images/a.tar", content: "a" },
        { path: "images/b.tar", content: "b" },
      ],
    },
  ],
});
const files = { "a.tar": Buffer.from("a"), "b.tar": Buffer.from("b"), "c.tar": Buffer.from("c") };

/** Runs a program in `cwd`; where it is not installed the failure says how to get it. */
async function run(cwd: string, program: string, ...args: readonly string[]): Promise<void> {
  await promisify(execFile)(program, args, { cwd, timeout: 60_000 }).catch((error: unknown) => {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    throw missing ? new Error(`${program} is missing: apt-get install ${program}`) : error;
  });
}

/** Makes an archive out of the OCI layout `app` in a directory of its own, then opens it. */
function imported(
  make: (dir: string) => Promise<void>,
  expected: { kind: string; digest?: string },
): Promise<void> {
  return inDirectory(async (dir) => {
    await writeOciLayout(join(dir, "app"), [{ image: app, tag: "1" }]);
    await make(dir);
    const archive = await openArchive(join(dir, "result"), amd64, never);
    try {
      assert.equal(archive.kind, expected.kind);
      if (expected.digest !== undefined) assert.equal(archive.image.digest, expected.digest);
      assert.deepEqual(await filesOf(archive.image), files);
    } finally {
      await archive.close();
    }
  });
}

const skopeo = (dir: string, from: string, to: string) =>
  run(dir, "skopeo", "--insecure-policy", "copy", "--quiet", from, to);

test("a docker archive that skopeo wrote is read", () =>
  imported((dir) => skopeo(dir, "oci:app:1", "docker-archive:result:app:1"), {
    kind: "docker archive",
  }));

test("an OCI archive that skopeo wrote is read", () =>
  imported((dir) => skopeo(dir, "oci:app:1", "oci-archive:result:1"), {
    kind: "OCI archive",
    digest: app.digest,
  }));

test("an OCI layout that skopeo wrote is read", () =>
  imported((dir) => skopeo(dir, "oci:app:1", "oci:result:1"), {
    kind: "OCI layout directory",
    digest: app.digest,
  }));

test("an OCI layout with a further tag by umoci is read", () =>
  imported(
    async (dir) => {
      await run(dir, "umoci", "tag", "--image", "app:1", "2");
      await rename(join(dir, "app"), join(dir, "result"));
    },
    { kind: "OCI layout directory", digest: app.digest },
  ));

for (const legacy of [true, false]) {
  test(`skopeo reads our docker archives as we do: ${legacy ? "up to Docker 24" : "since"}`, () =>
    inDirectory(async (dir) => {
      const saved = dockerArchive([{ image: app, tags: ["app:1"] }], {
        legacy,
        linkedLayers: true,
      });
      await writeFile(join(dir, "saved"), saved);
      await skopeo(dir, "docker-archive:saved:app:1", "oci:result:1");
      const archive = await openArchive(join(dir, "result"), amd64, never);
      assert.deepEqual(await filesOf(archive.image), files);
    }));
}

for (const [format, args] of [
  ["GNU", ["--format=gnu"]],
  ["PAX", ["--format=pax"]],
  ["gzip", ["--gzip"]],
  ["zstd", ["--zstd"]],
] as const) {
  test(`an OCI layout that was packed by hand with tar is read: ${format}`, () =>
    imported((dir) => run(dir, "tar", ...args, "-C", "app", "-cf", "result", "."), {
      kind: "OCI archive",
      digest: app.digest,
    }));
}

test("a docker archive that was unpacked and packed again, its links become hard links, is read", () =>
  imported(
    async (dir) => {
      await skopeo(dir, "oci:app:1", "docker-archive:first:app:1");
      await mkdir(join(dir, "loose"));
      await run(dir, "tar", "-C", "loose", "-xf", "first");
      const [saved] = JSON.parse(String(await readFile(join(dir, "loose/manifest.json")))) as [
        { Layers: [string, string] },
      ];
      // Two names of one file, as deduplicating tools leave it: tar stores the second as a hard link.
      await run(join(dir, "loose"), "ln", saved.Layers[0], "+copy");
      await run(dir, "tar", "-C", "loose", "--sort=name", "-cf", "result", ".");
    },
    { kind: "docker archive" },
  ));
