/** The disk below the real command: wrong from the start, full, or changed under a run. */
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";

import { machinePlatform } from "../../src/registry/platform.ts";
import { buildImage, type TarSpec } from "../../testbed/image-builder.ts";
import { makeDisk, mountDisk } from "../../testbed/loop-disk.ts";
import { startMisbehavingRegistry } from "../../testbed/misbehaving-registry.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { larder, mainFile, start, type Finished } from "../cli/larder-process.ts";

const megabyte = 1024 * 1024;

/** A registry with one image, and what imports it. */
async function setUp(t: TestContext, entries: readonly TarSpec[], stored = false) {
  const registry = await startMisbehavingRegistry();
  t.after(() => registry.stop());
  const layers = [{ entries, compression: stored ? ("none" as const) : ("gzip" as const) }];
  registry.hold("app", "1", buildImage({ platform: machinePlatform(), layers }));
  const words = (cachePath: string, ...more: string[]): string[] => [
    "import",
    "--quiet",
    "--output",
    "json",
    "--name",
    "app",
    "--cache-path",
    cachePath,
    "--insecure-registry",
    registry.host,
    ...more,
    `${registry.host}/app:1`,
  ];
  const fill = (cachePath: string, ...more: string[]) => larder(words(cachePath, ...more));
  const blobsAsked = () => registry.seen.filter(({ path }) => path.includes("/blobs/")).length;
  return { registry, words, fill, blobsAsked };
}

function assertFailed(run: Finished, code: string, message: RegExp): void {
  assert.equal(run.exitCode, 1, run.stderr);
  assert.match(run.stderr, /^larder: [^\n]+\n$/);
  assert.match(run.stderr, message);
  assert.equal(JSON.parse(run.stdout).error.code, code);
}

/** A small ext4 of its own that is gone when the test is. */
async function smallDisk(t: TestContext): Promise<string> {
  const folder = await tempDirectory(t);
  const file = join(folder, "disk");
  await makeDisk(file, "ext4", 24 * megabyte);
  const disk = await mountDisk(file, "ext4");
  t.after(() => disk.close());
  await rm(join(disk.path, "lost+found"), { recursive: true, force: true });
  return disk.path;
}

const little = [{ path: "a.tar", content: "alpha" }];

test("a cache path that is a link, a file or missing is refused before any registry is asked", async (t) => {
  const { registry, fill } = await setUp(t, little);
  const dir = await tempDirectory(t);
  await mkdir(join(dir, "real"));
  await symlink(join(dir, "real"), join(dir, "link"));
  await writeFile(join(dir, "file"), "");
  assertFailed(await fill(join(dir, "link")), "cache-path", /it is a symbolic link: .*\/real/);
  assertFailed(await fill(join(dir, "link/")), "cache-path", /it is a symbolic link/);
  assertFailed(await fill(join(dir, "file")), "cache-path", /it is a file: name a directory/);
  assertFailed(await fill(join(dir, "missing")), "cache-path", /it does not exist: make it/);
  assert.deepEqual(await readdir(join(dir, "real")), []);
  assert.equal(registry.accepted, 0);
});

test("a file system in which no directory can be made is an error, not an endless try", async (t) => {
  const { registry, fill } = await setUp(t, little);
  assertFailed(await fill("/proc"), "disk", /cannot begin to fill \/proc\/app: .*ENOENT/);
  assert.equal(registry.accepted, 0);
});

test("a read-only disk is refused before any registry is asked", async (t) => {
  const { registry, fill } = await setUp(t, little);
  const path = await smallDisk(t);
  execFileSync("mount", ["-o", "remount,ro", path]);
  assertFailed(await fill(path), "cache-path", /read-only file system: mount it read-write/);
  assert.equal(registry.accepted, 0);
});

test("what stands under the name and is not Larder's is refused before any registry is asked, and stays", async (t) => {
  const { registry, fill } = await setUp(t, little);
  for (const [what, put] of [
    ["a file", (path: string) => writeFile(path, "mine")],
    ["a symbolic link", (path: string) => symlink("/etc", path)],
    ["a directory without a sentinel", (path: string) => mkdir(path)],
    ["a pipe", async (path: string) => void execFileSync("mkfifo", [path])],
  ] as const) {
    const path = await tempDirectory(t);
    await put(join(path, "app"));
    for (const more of [[], ["--force"]]) {
      assertFailed(await fill(path, ...more), "foreign", new RegExp(`: ${what} stands there`));
    }
    assert.deepEqual(await readdir(path), ["app"]);
  }
  assert.equal(registry.accepted, 0);
});

test("a disk that is full at the start is refused before a byte of a layer is fetched", async (t) => {
  const content = Buffer.alloc(30 * megabyte, "incompressible enough");
  const { fill, blobsAsked, registry } = await setUp(t, [{ path: "big", content }], true);
  const path = await smallDisk(t);
  const run = await fill(path);
  assertFailed(
    run,
    "disk",
    /MiB are free below .*, at least 30\.1 MiB more are needed: free at least/,
  );
  assert.ok(registry.seen.some(({ path: asked }) => asked.includes("/manifests/")));
  // The config says what the platform is; of the layer nothing was asked for.
  assert.equal(blobsAsked(), 1);
  assert.deepEqual(await readdir(path), []);
});

test("a disk that fills mid-way is an error that says so, and leaves nothing behind", async (t) => {
  const files = Array.from({ length: 60 }, (_, n) => ({
    path: `f${n}`,
    content: Buffer.alloc(megabyte),
  }));
  const { fill, blobsAsked } = await setUp(t, files);
  const path = await smallDisk(t);
  assertFailed(await fill(path), "disk", /cannot write .*f\d+: .*free/);
  assert.equal(blobsAsked(), 2);
  assert.deepEqual(await readdir(path), []);
});

test("a disk that runs out of inodes is an error that says so, and leaves nothing behind", async (t) => {
  const files = Array.from({ length: 8000 }, (_, n) => ({ path: `f${n}`, content: "x" }));
  const { fill } = await setUp(t, files);
  const path = await smallDisk(t);
  assertFailed(await fill(path), "disk", /cannot write .*f\d+: no space left .*inodes \(df -i\)/);
  assert.deepEqual(await readdir(path), []);
});

test("a file that is longer than the process may write is an error that names that limit, and leaves nothing behind", async (t) => {
  const content = Buffer.alloc(2 * megabyte);
  const { words } = await setUp(t, [{ path: "big.tar", content }]);
  const path = await tempDirectory(t);
  // In blocks of 512 bytes or 1 KiB, whichever the shell counts in.
  const limited = ["-c", 'ulimit -f 1000; exec "$@"', "sh", process.execPath, mainFile];
  const limitedRun = promisify(execFile)("sh", [...limited, ...words(path)]);
  await assert.rejects(
    limitedRun,
    /cannot write .*big\.tar: file too large \(EFBIG\): .*ulimit -f/,
  );
  assert.deepEqual(await readdir(path), []);
});

test("a name that is a mount point is an error, and what is mounted there stays", async (t) => {
  const { fill } = await setUp(t, little);
  const path = await tempDirectory(t);
  assert.equal((await fill(path)).exitCode, 0);
  execFileSync("mount", ["--bind", join(path, "app"), join(path, "app")]);
  try {
    assertFailed(await fill(path, "--force"), "disk", /it is a mount point/);
    assert.deepEqual(await readdir(path), ["app"]);
    assert.ok((await readdir(join(path, "app"))).includes("a.tar"));
  } finally {
    execFileSync("umount", [join(path, "app")]);
  }
});

/** An import whose manifest comes slowly; `change` happens meanwhile. */
async function changedMidway(
  t: TestContext,
  change: (path: string) => Promise<void>,
): Promise<{ run: Finished; path: string }> {
  const { registry, words } = await setUp(t, little);
  const path = join(await tempDirectory(t), "cache");
  await mkdir(path);
  registry.misbehave(/\/manifests\//, { kind: "slow", bytes: 8, everyMs: 10 });
  const { finished } = start(words(path));
  await until("the run is under way", async () => registry.seen.length > 0);
  await change(path);
  return { run: await finished, path };
}

test("a cache path that another takes the place of during a run is an error, not a success elsewhere", async (t) => {
  const { run, path } = await changedMidway(t, async (it) => {
    await rename(it, `${it}-former`);
    await mkdir(it);
  });
  assertFailed(run, "cache-path", /another directory took the place of the cache path meanwhile/);
  assert.deepEqual(await readdir(path), []);
});

test("a cache path that is removed during a run is an error", async (t) => {
  const { run } = await changedMidway(t, (it) => rm(it, { recursive: true }));
  assertFailed(run, "disk", /no such file or directory \(ENOENT\)/);
});

test("what appears under the name during a run is not replaced", async (t) => {
  const { run, path } = await changedMidway(t, (it) => mkdir(join(it, "app")));
  assertFailed(run, "foreign", /a directory without a sentinel stands there/);
  assert.deepEqual(await readdir(path), ["app"]);
});
