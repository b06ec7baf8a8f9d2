import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { entriesOf, fill, filesImage } from "../../test/cache/fixture.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { LarderError } from "../errors.ts";
import { sentinelName } from "./sentinel.ts";
import { verifyCache, type VerifyOptions } from "./verify.ts";

const image = filesImage({ "a.tar": "alpha", "b.tar": "beta" });

async function verify(path: string, options: Partial<VerifyOptions> = {}) {
  return verifyCache(path, { deep: false, signal: new AbortController().signal, ...options });
}

test("a complete directory is told with its digest, source, owner, files and bytes", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image, { source: "r.example.com/app:1" });
  assert.deepEqual(await verify(path), [
    {
      name: "app",
      state: "complete",
      digest: image.digest,
      source: "r.example.com/app:1",
      owner: "imagecachectl",
      files: 2,
      bytes: 9,
      unsummed: 0,
    },
  ]);
});

test("every directory that is not hidden is looked at, in order; flat files are not", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image, { name: "b" });
  await fill(path, image, { name: "a" });
  fs.mkdirSync(join(path, "c"));
  fs.mkdirSync(join(path, ".a.tmp-1"));
  fs.writeFileSync(join(path, "flat.tar"), "");
  const verdicts = await verify(path);
  assert.deepEqual(
    verdicts.map(({ name, state }) => `${name} ${state}`),
    ["a complete", "b complete", "c foreign"],
  );
});

test("one name is looked at alone, and may be absent", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  assert.deepEqual(await verify(path, { name: "nothing" }), [
    { name: "nothing", state: "absent", why: "nothing stands there" },
  ]);
});

test("a missing file is found without reading anything", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  fs.unlinkSync(join(path, "app", "a.tar"));
  const [verdict] = await verify(path);
  assert.equal(verdict?.state, "incomplete");
  assert.equal(verdict?.why, '"a.tar" is missing');
});

test("a changed byte is found by a deep look only, and told with both checksums", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  fs.writeFileSync(join(path, "app", "a.tar"), "alphb");
  assert.equal((await verify(path))[0]?.state, "complete");
  const [verdict] = await verify(path, { deep: true });
  assert.equal(verdict?.state, "incomplete");
  const damage = { name: "a.tar", expected: "crc32:d0e0396a", actual: "crc32:49e968d0" };
  assert.deepEqual(verdict?.damaged, [damage]);
  assert.match(verdict?.why ?? "", /"a\.tar" should be crc32:d0e0396a and is crc32:49e968d0/);
});

test("a deep look tells of every damaged file, missing ones and links included", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  fs.unlinkSync(join(path, "app", "a.tar"));
  fs.unlinkSync(join(path, "app", "b.tar"));
  fs.symlinkSync("/etc/passwd", join(path, "app", "b.tar"));
  const [verdict] = await verify(path, { deep: true });
  assert.deepEqual(verdict?.damaged, [
    { name: "a.tar", expected: "a file", actual: "missing" },
    { name: "b.tar", expected: "a file", actual: "a symbolic link" },
  ]);
});

test("an undamaged directory passes a deep look, which names each file before it reads it", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  const read: string[] = [];
  const onFile = (name: string, file: string): unknown => read.push(`${name}/${file}`);
  const [verdict] = await verify(path, { deep: true, onFile });
  assert.equal(verdict?.state, "complete");
  assert.deepEqual(read, ["app/a.tar", "app/b.tar"]);
});

test("files without a checksum, or with one of an unknown algorithm, are counted", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  const file = join(path, "app", sentinelName);
  const sentinel: unknown = JSON.parse(fs.readFileSync(file, "utf8"));
  fs.writeFileSync(
    file,
    JSON.stringify(Object.assign({}, sentinel, { sums: { "a.tar": "new9:00" } })),
  );
  const [verdict] = await verify(path, { deep: true });
  assert.equal(verdict?.state, "complete");
  assert.equal(verdict?.unsummed, 2);
});

test("a sha256 checksum is compared, too", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  const file = join(path, "app", sentinelName);
  const sentinel: unknown = JSON.parse(fs.readFileSync(file, "utf8"));
  const sums = { "a.tar": `sha256:${"0".repeat(64)}` };
  fs.writeFileSync(file, JSON.stringify(Object.assign({}, sentinel, { sums })));
  const [verdict] = await verify(path, { deep: true });
  assert.match(verdict?.damaged?.[0]?.actual ?? "", /^sha256:8ed3f6ad685b959ead7022518e1af76c/);
});

test("an older agent's sentinel is verified as far as it goes", async (t) => {
  const path = await tempDirectory(t);
  fs.mkdirSync(join(path, "app"));
  fs.writeFileSync(join(path, "app", "a.tar"), "x");
  const sentinel = { digest: image.digest, files: ["a.tar"] };
  fs.writeFileSync(join(path, "app", sentinelName), JSON.stringify(sentinel));
  assert.deepEqual(await verify(path, { deep: true }), [
    { name: "app", state: "complete", digest: image.digest, files: 1, unsummed: 1 },
  ]);
});

test("verifying changes nothing and takes no lock", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  fs.mkdirSync(join(path, ".app.tmp-1"));
  await verify(path, { deep: true });
  assert.deepEqual(await entriesOf(path), [".app.tmp-1", "app"]);
});

test("verifying stops when told to", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  const stop = new AbortController();
  const stopped = verify(path, { deep: true, signal: stop.signal, onFile: () => stop.abort() });
  await assert.rejects(
    stopped,
    (error) => error instanceof LarderError && error.code === "interrupted",
  );
});

test("what no resource can be called, such as a disk's lost+found, is not looked at", async (t) => {
  const path = await tempDirectory(t);
  fs.mkdirSync(join(path, "lost+found"), { mode: 0o700 });
  fs.mkdirSync(join(path, "Upper"));
  assert.deepEqual(await verify(path), []);
});

/** Acts as a user without privileges, whom modes keep from reading. */
async function withoutPrivileges<T>(path: string, action: () => Promise<T>): Promise<T> {
  assert.equal(process.geteuid?.(), 0, "run this test as root: it acts as another user");
  fs.chmodSync(path, 0o755);
  process.seteuid?.(65532);
  try {
    return await action();
  } finally {
    process.seteuid?.(0);
  }
}

test("a file that cannot be read is told with the reason, and every other file is read all the same", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, filesImage({ "a.tar": "alpha", "b.tar": "beta", "c.tar": "gamma" }));
  fs.chmodSync(join(path, "app", "a.tar"), 0);
  const read: string[] = [];
  const onFile = (_: string, file: string): unknown => read.push(file);
  const [verdict] = await withoutPrivileges(path, () => verify(path, { deep: true, onFile }));
  assert.deepEqual(read, ["a.tar", "b.tar", "c.tar"]);
  assert.equal(verdict?.state, "unreadable");
  assert.deepEqual(
    verdict?.unreadable?.map(({ name }) => name),
    ["a.tar"],
  );
  assert.match(verdict?.why ?? "", /^cannot read .*\/app\/a\.tar: permission denied \(EACCES\): /);
});

test("a directory with a damaged file and an unreadable one is incomplete, and tells of both", async (t) => {
  const path = await tempDirectory(t);
  await fill(path, image);
  fs.chmodSync(join(path, "app", "a.tar"), 0);
  fs.writeFileSync(join(path, "app", "b.tar"), "BETA");
  const [verdict] = await withoutPrivileges(path, () => verify(path, { deep: true }));
  assert.equal(verdict?.state, "incomplete");
  assert.equal(verdict?.unreadable?.[0]?.name, "a.tar");
  assert.equal(verdict?.damaged?.[0]?.name, "b.tar");
});

test("a directory that cannot be looked at is told with the reason, and keeps no other from its turn", async (t) => {
  const path = await tempDirectory(t);
  for (const name of ["a", "b", "c"]) await fill(path, image, { name });
  fs.chmodSync(join(path, "a"), 0);
  fs.chmodSync(join(path, "b", sentinelName), 0);
  const verdicts = await withoutPrivileges(path, () => verify(path));
  assert.deepEqual(
    verdicts.map(({ name, state }) => `${name} ${state}`),
    ["a unreadable", "b unreadable", "c complete"],
  );
  assert.match(verdicts[0]?.why ?? "", /^cannot look at .*\/a: permission denied \(EACCES\): /);
});
