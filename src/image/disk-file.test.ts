import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { appendFile, mkdtemp, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { refusal } from "../../testbed/refusal.ts";
import { cannotRead } from "./disk-error.ts";
import { DiskFile } from "./disk-file.ts";

const never = new AbortController().signal;
const content = randomBytes(600_000);
let dir = "";
let path = "";

before(async () => {
  dir = await mkdtemp(join(tmpdir(), "larder-disk-file-"));
  path = join(dir, "file");
  await writeFile(path, content);
});
after(() => rm(dir, { recursive: true }));

async function readAll(file: DiskFile, start: number, end: number): Promise<Buffer> {
  const blocks: Buffer[] = [];
  for await (const block of file.read(start, end, never)) blocks.push(block);
  return Buffer.concat(blocks);
}

test("a range of a file is read by position", async () => {
  const file = await DiskFile.open(path, "follow");
  assert.equal(file.size, content.length);
  assert.deepEqual(await readAll(file, 1000, 590_000), content.subarray(1000, 590_000));
  assert.deepEqual(await readAll(file, 5, 5), Buffer.alloc(0));
  await file.close();
});

test("two ranges of one file are read at the same time", async () => {
  const file = await DiskFile.open(path, "follow");
  const [a, b] = await Promise.all([readAll(file, 0, 300_000), readAll(file, 100, 600_000)]);
  assert.deepEqual(a, content.subarray(0, 300_000));
  assert.deepEqual(b, content.subarray(100));
  await file.close();
});

test("a file that grows while it is read is an error of the disk", async () => {
  const growing = join(dir, "growing");
  await writeFile(growing, content);
  const file = await DiskFile.open(growing, "follow");
  await appendFile(growing, "more");
  await assert.rejects(readAll(file, 0, 100), refusal("disk", /changed while it was read/));
  await file.close();
});

test("a file that shrinks while it is read is an error of the disk", async () => {
  const shrinking = join(dir, "shrinking");
  await writeFile(shrinking, content);
  const file = await DiskFile.open(shrinking, "follow");
  await truncate(shrinking, 10);
  await assert.rejects(readAll(file, 0, 100), refusal("disk", /changed while it was read/));
  await file.close();
});

test("reading a file stops when it is told to", async () => {
  const file = await DiskFile.open(path, "follow");
  const stop = new AbortController();
  const reading = async () => {
    for await (const _ of file.read(0, file.size, stop.signal)) stop.abort();
  };
  await assert.rejects(reading, refusal("interrupted", /told to stop/));
  await file.close();
});

test("a symbolic link is followed or refused, as asked for", async () => {
  const link = join(dir, "link");
  await symlink(path, link);
  const file = await DiskFile.open(link, "follow");
  assert.equal(file.size, content.length);
  await file.close();
  await assert.rejects(DiskFile.open(link, "refuse"), refusal("disk", /symbolic link/));
});

test("opening something that is not a regular file is refused and leaves nothing open", async () => {
  await assert.rejects(DiskFile.open(dir, "follow"), refusal("image", /it is a directory/));
  await assert.rejects(DiskFile.open("/dev/null", "follow"), refusal("image", /character device/));
});

const systemErrors: [string, RegExp][] = [
  ["ENOENT", /no such file or directory \(ENOENT\): check the path/],
  ["ENOTDIR", /not a directory/],
  ["EACCES", /permission denied \(EACCES\): run this as a user who may read it/],
  ["EPERM", /operation not permitted \(EPERM\): run this as/],
  ["EIO", /i\/o error \(EIO\): the medium is failing/],
  ["EMFILE", /too many open files \(EMFILE\): raise the limit/],
  ["ENAMETOOLONG", /name too long/],
];

for (const [code, pattern] of systemErrors) {
  const errno = -(new Map(Object.entries(constants.errno)).get(code) ?? 0);
  test(`a failure to read is an error of the disk with a remedy: ${code}`, () => {
    const error = cannotRead("/mnt/app.tar", Object.assign(new Error("x"), { code, errno }));
    assert.ok(error.cause instanceof Error);
    refusal("disk", pattern)(error);
  });
}

test("a failure to read that is not the system's is a fault of Larder, in its own words", () => {
  const error = cannotRead("/mnt/app.tar", new Error("the moon is full"));
  refusal("internal", /\/mnt\/app\.tar: the moon is full: .*report it/)(error);
});
