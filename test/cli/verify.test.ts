import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { machinePlatform } from "../../src/registry/platform.ts";
import {
  buildImage,
  ociArchive,
  writeOciLayout,
  type TarSpec,
} from "../../testbed/image-builder.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { larder } from "./larder-process.ts";

/** A cache path with two complete directories, `boot` and `spare`. */
async function setUp(context: TestContext, more: readonly TarSpec[] = []) {
  const cachePath = await tempDirectory(context);
  const layout = join(await tempDirectory(context), "layout");
  const entries = [
    { path: "one.tar", content: "one" },
    { path: "two.tar", content: "three" },
    ...more,
  ];
  const image = buildImage({ platform: machinePlatform(), layers: [{ entries }] });
  await writeOciLayout(layout, [{ image }]);
  const fill = (name: string, ...words: string[]) =>
    larder(["import", "--cache-path", cachePath, "--name", name, ...words, layout]);
  for (const name of ["boot", "spare"]) assert.equal((await fill(name)).exitCode, 0);
  const verify = (...words: string[]) => larder(["verify", "--cache-path", cachePath, ...words]);
  return { cachePath, fill, verify, image };
}

test("verify lists what is complete in a table and exits 0", async (context) => {
  const { verify } = await setUp(context);
  const { exitCode, stdout, stderr } = await verify();
  assert.equal(exitCode, 0, stderr);
  const [heading, boot, spare, ...rest] = stdout.trimEnd().split("\n");
  assert.match(heading ?? "", /^NAME +STATE +FILES +BYTES +DIGEST +SOURCE$/);
  assert.match(boot ?? "", /^boot +complete +2 +8 B +sha256:[0-9a-f]{12} +-$/);
  assert.match(spare ?? "", /^spare +complete /);
  assert.deepEqual(rest, []);
});

test("verify exits 1 when a file is missing, names it, and says how to repair it", async (context) => {
  const { verify, cachePath } = await setUp(context);
  await rm(join(cachePath, "boot/one.tar"));
  const { exitCode, stdout } = await verify();
  assert.equal(exitCode, 1);
  assert.match(stdout, /^boot +incomplete /m);
  assert.match(stdout, /^boot: .*one\.tar/m);
  assert.match(
    stdout,
    /^boot: to repair it, run: larder import --cache-path \S+ --name boot <path of layout>$/m,
  );
});

test("verify --deep finds a changed byte that plain verify cannot see", async (context) => {
  const { verify, fill, cachePath } = await setUp(context);
  await writeFile(join(cachePath, "boot/one.tar"), "0ne");
  assert.equal((await verify()).exitCode, 0);
  const { exitCode, stdout } = await verify("--deep");
  assert.equal(exitCode, 1);
  assert.match(stdout, /^boot: one\.tar is damaged: it should be \S+ and is \S+$/m);
  assert.match(stdout, /^boot: to repair it, run: .* --force$/m);
  await fill("boot", "--force");
  assert.equal((await verify("--deep")).exitCode, 0);
});

test("verify --deep goes on after a file that the disk cannot read, tells of each, and exits 1", async (context) => {
  const { verify, cachePath } = await setUp(context, [{ path: "empty.tar", content: "" }]);
  await writeFile(join(cachePath, "spare/two.tar"), "THREE");
  // A file that reads as an input/output error: nothing is mapped at a process's first address.
  const file = join(cachePath, "boot/empty.tar");
  execFileSync("mount", ["--bind", `/proc/${process.pid}/mem`, file]);
  try {
    const { exitCode, stdout, stderr } = await verify("--deep");
    assert.equal(exitCode, 1);
    assert.match(stdout, /^boot +unreadable +3 /m);
    assert.match(stdout, /^boot: cannot read .*\/boot\/empty\.tar: i\/o error \(EIO\): .*dmesg/m);
    assert.match(stdout, /^spare: two\.tar is damaged: /m);
    assert.equal(stderr, "");
    const { resources, ok, error } = JSON.parse(
      (await verify("--deep", "--output", "json")).stdout,
    );
    assert.deepEqual([ok, error], [false, undefined]);
    const [{ state, unreadable }, spare] = resources;
    assert.deepEqual([state, spare.state], ["unreadable", "incomplete"]);
    assert.equal(unreadable[0].name, "empty.tar");
    assert.match(unreadable[0].why, /\(EIO\)/);
  } finally {
    execFileSync("umount", [file]);
  }
});

test("a directory that is not Larder's is listed and does not fail a walk, but fails by name", async (context) => {
  const { verify, cachePath } = await setUp(context);
  await mkdir(join(cachePath, "mine"));
  const walk = await verify();
  assert.equal(walk.exitCode, 0);
  assert.match(walk.stdout, /^mine +foreign +- +- +- +-$/m);
  const named = await verify("--name", "mine");
  assert.equal(named.exitCode, 1);
});

test("flat files in the cache path are not looked at", async (context) => {
  const { verify, cachePath } = await setUp(context);
  await writeFile(join(cachePath, "flat.tar"), "x");
  assert.doesNotMatch((await verify()).stdout, /flat/);
});

test("verify --name looks at that one only, and fails when it is absent", async (context) => {
  const { verify } = await setUp(context);
  const { exitCode, stdout } = await verify("--name", "spare");
  assert.equal(exitCode, 0);
  assert.doesNotMatch(stdout, /boot/);
  const missing = await verify("--name", "missing");
  assert.equal(missing.exitCode, 1);
  assert.match(missing.stdout, /^missing +absent /m);
});

test("an empty cache path is no failure and is said to be empty", async (context) => {
  const cachePath = await tempDirectory(context);
  const { exitCode, stdout } = await larder(["verify", "--cache-path", cachePath]);
  assert.equal(exitCode, 0);
  assert.equal(stdout, `nothing to check in ${cachePath}\n`);
});

test("verify --output json has version 1, every resource, and whether all is well", async (context) => {
  const { verify, cachePath, image } = await setUp(context);
  await rm(join(cachePath, "spare/one.tar"));
  const { exitCode, stdout } = await verify("--output", "json", "--deep");
  assert.equal(exitCode, 1);
  const result = JSON.parse(stdout);
  const { resources, ...rest } = result;
  assert.deepEqual(rest, { version: 1, cachePath, deep: true, ok: false });
  assert.deepEqual(
    resources.map(({ name, state }: { name: string; state: string }) => [name, state]),
    [
      ["boot", "complete"],
      ["spare", "incomplete"],
    ],
  );
  assert.equal(resources[0].digest, image.digest);
  assert.equal(resources[0].files, 2);
  assert.equal(resources[0].bytes, 8);
  assert.equal(resources[0].unsummed, 0);
});

test("verify --output json prints an object for errors, too", async () => {
  for (const [words, code, exitCode] of [
    [["--cache-path", "/does/not/exist"], "cache-path", 1],
    [["--cache-path", "relative"], "usage", 2],
    [["--nmae", "x"], "usage", 2],
  ] as const) {
    const result = await larder(["verify", "--output", "json", ...words]);
    assert.equal(result.exitCode, exitCode);
    assert.equal(JSON.parse(result.stdout).error.code, code);
    assert.equal(JSON.parse(result.stdout).ok, false);
  }
});

test("verify says how many files no checksum speaks for", async (context) => {
  const { verify, cachePath } = await setUp(context);
  const file = join(cachePath, "boot/.image-cache-agent.json");
  const { digest, files } = JSON.parse(await readFile(file, "utf8"));
  await chmod(file, 0o644);
  await writeFile(file, JSON.stringify({ digest, files }));
  const { exitCode, stdout } = await verify("--deep");
  assert.equal(exitCode, 0);
  assert.match(
    stdout,
    /^boot: files without a checksum on record: 2; only their size was checked$/m,
  );
});

test("prepare hands the cache path and what Larder made to the user, and nothing else", async (context) => {
  assert.equal(process.getuid?.(), 0, "run this test as root: it gives files to another user");
  const { cachePath } = await setUp(context);
  await mkdir(join(cachePath, "mine"));
  await writeFile(join(cachePath, "flat.tar"), "x");
  const { exitCode, stdout, stderr } = await larder(["prepare", "--uid", "65532", cachePath]);
  assert.equal(exitCode, 0, stderr);
  assert.equal(stdout, `${cachePath}: handed to 65532:65532\n`);
  const owner = async (path: string) => {
    const { uid, gid } = await stat(join(cachePath, path));
    return [uid, gid];
  };
  for (const path of [".", "boot", "boot/one.tar"])
    assert.deepEqual(await owner(path), [65532, 65532]);
  for (const path of ["mine", "flat.tar"]) assert.deepEqual(await owner(path), [0, 0]);
  const other = ["prepare", "--uid", "65532", "--gid", "7", cachePath];
  assert.equal((await larder(other)).exitCode, 0);
  assert.deepEqual(await owner("boot"), [65532, 7]);
});

test("prepare needs --uid and a path, and refuses what is no number, with exit 2", async () => {
  for (const words of [
    [],
    ["/tmp"],
    ["--uid", "root", "/tmp"],
    ["--uid", "4294967295", "/tmp"],
    ["--uid", "1", "--gid", "-1", "/tmp"],
    ["--uid", "1"],
    ["--uid", "1", "relative"],
  ]) {
    const { exitCode, stderr } = await larder(["prepare", ...words]);
    assert.equal(exitCode, 2, words.join(" "));
    assert.match(stderr, /^larder: [^\n]+\n$/);
  }
});

test("prepare creates nothing: a cache path that is missing is an error", async (context) => {
  const missing = join(await tempDirectory(context), "missing");
  const { exitCode, stderr } = await larder(["prepare", "--uid", "65532", missing]);
  assert.equal(exitCode, 1, stderr);
  assert.throws(() => execFileSync("stat", [missing], { stdio: "ignore" }));
});

test("a name that a power cut left between the two renames of a swap is not passed over", async (context) => {
  const { verify, fill, cachePath } = await setUp(context);
  const hidden = join(cachePath, ".boot.tmp-0123456789abcdef");
  await mkdir(hidden);
  await rename(join(cachePath, "boot"), join(hidden, "old"));
  for (const words of [[], ["--name", "boot"]]) {
    const { exitCode, stdout } = await verify(...words);
    assert.equal(exitCode, 1);
    assert.match(stdout, /^boot +absent /m);
    assert.match(
      stdout,
      /^boot: nothing stands there yet: \.boot\.tmp-0123456789abcdef is of a run/m,
    );
    assert.match(stdout, /^boot: to fill it, run: larder import /m);
  }
  assert.equal((await fill("boot")).exitCode, 0);
  assert.equal((await verify()).exitCode, 0);
});

test("the line that repairs what came from an archive names the archive", async (context) => {
  const { verify, cachePath, image } = await setUp(context);
  const archive = join(await tempDirectory(context), "app.tar");
  await writeFile(archive, ociArchive([{ image }]));
  const words = ["import", "--cache-path", cachePath, "--name", "app", archive];
  assert.equal((await larder(words)).exitCode, 0);
  await rm(join(cachePath, "app/one.tar"));
  const { stdout } = await verify("--name", "app");
  assert.match(stdout, /^app: to repair it, run: larder import .* --name app <path of app\.tar>$/m);
});
