import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test, type TestContext } from "node:test";

import { InsufficientDiskError, LarderError } from "../../src/errors.ts";
import { entriesOf, fill, filesImage, imageOf } from "./fixture.ts";

/** A small ext4 file system of its own, unmounted when the test is over. */
async function smallDisk(t: TestContext, ...options: string[]): Promise<string> {
  assert.equal(process.geteuid?.(), 0, "run this suite as root: it mounts file systems");
  const folder = await mkdtemp(join(tmpdir(), "larder-disk-"));
  const file = join(folder, "disk");
  const path = join(folder, "cache");
  await mkdir(path);
  execFileSync("truncate", ["-s", "16M", file]);
  execFileSync("mkfs.ext4", ["-q", "-F", ...options, file]);
  execFileSync("mount", ["-o", "loop", file, path]);
  t.after(async () => {
    execFileSync("umount", [path]);
    await rm(folder, { recursive: true });
  });
  execFileSync("rmdir", [join(path, "lost+found")]);
  return path;
}

/** 64 MiB that compress to little: what is declared fits, what is written does not. */
const swollen = imageOf([[{ path: "big", content: Buffer.alloc(64 * 1024 * 1024) }]], "gzip");
const small = filesImage({ "a.tar": "alpha" });

const isInsufficient = (error: unknown): boolean => {
  assert.ok(error instanceof InsufficientDiskError, String(error));
  assert.ok(error.missingBytes > 0);
  return true;
};

test("a disk that fills mid-way ends in the temporary directory being removed", async (t) => {
  const path = await smallDisk(t);
  await fill(path, small, { name: "before" });
  await assert.rejects(fill(path, swollen), isInsufficient);
  assert.deepEqual(await entriesOf(path), ["before"]);
  await fill(path, small, { name: "after" });
  assert.deepEqual(await entriesOf(path), ["after", "before"]);
});

test("a disk full of many small files says so, too, and is as clean afterwards", async (t) => {
  const path = await smallDisk(t, "-N", "64");
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`f${index}`, "x"]));
  await assert.rejects(fill(path, filesImage(many)), (error) => {
    isInsufficient(error);
    assert.match(String(error), /cannot write .*\/f\d+: no space left .*inodes/);
    return true;
  });
  assert.deepEqual(await entriesOf(path), []);
});

test("old content stays whole when there is no room for the new", async (t) => {
  const path = await smallDisk(t);
  await fill(path, small);
  await assert.rejects(fill(path, swollen, { force: true }), isInsufficient);
  assert.equal((await fill(path, () => assert.fail("the source was asked"))).result, "complete");
});

test("a read-only disk is an error of the cache path, and what is complete there is complete", async (t) => {
  const path = await smallDisk(t);
  await fill(path, small);
  execFileSync("mount", ["-o", "remount,ro", path]);
  await assert.rejects(fill(path, small, { name: "other" }), (error) => {
    assert.ok(error instanceof LarderError);
    assert.equal(error.code, "cache-path");
    assert.match(error.message, /read-only file system: mount it read-write/);
    return true;
  });
  assert.equal((await fill(path, () => assert.fail("the source was asked"))).result, "complete");
});

test("the name of a mount point is refused with what it is, and nothing is left behind", async (t) => {
  const path = await smallDisk(t);
  await fill(path, small);
  execFileSync("mount", ["--bind", join(path, "app"), join(path, "app")]);
  try {
    const refused = /\/app in place: .*it is a mount point/;
    await assert.rejects(fill(path, small, { force: true }), refused);
    assert.deepEqual(await entriesOf(path), ["app"]);
  } finally {
    execFileSync("umount", [join(path, "app")]);
  }
});

test("a leftover that something is mounted in is not emptied", async (t) => {
  const path = await smallDisk(t);
  await fill(path, small, { name: "precious" });
  const mounted = join(path, ".app.tmp-1", "new");
  await mkdir(mounted, { recursive: true });
  execFileSync("mount", ["--bind", join(path, "precious"), mounted]);
  try {
    await assert.rejects(fill(path, small), /\.app\.tmp-1.*it is a mount point/);
    assert.ok((await entriesOf(join(path, "precious"))).includes("a.tar"));
  } finally {
    execFileSync("umount", [mounted]);
  }
});
