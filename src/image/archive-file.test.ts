import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";

import { refusal } from "../../testbed/refusal.ts";
import { tarOf, type TarSpec } from "../../testbed/tar-writer.ts";
import { ArchiveFile } from "./archive-file.ts";
import { DiskFile } from "./disk-file.ts";

const never = new AbortController().signal;
const large = randomBytes(700_001);
const longName = `${"deep/".repeat(40)}file`;
const entries: readonly TarSpec[] = [
  { path: "a/", type: "directory" },
  { path: "a/small", content: "small" },
  { path: "./a/large", content: large },
  { path: "a/empty", content: "" },
  { path: "a/link", type: "symlink", linkName: "large" },
  { path: "pipe", type: "fifo" },
  { path: longName, content: "long" },
  { path: "twice", content: "first" },
  { path: "other", content: large.subarray(0, 300_000) },
  { path: "twice", content: "second" },
];
const packings: [string, (tar: Buffer) => Buffer][] = [
  ["plain", (tar) => tar],
  ["gzip", (tar) => gzipSync(tar, { level: 1 })],
  ["zstd", (tar) => zstdCompressSync(tar)],
];

let dir = "";
before(async () => {
  dir = await mkdtemp(join(tmpdir(), "larder-archive-file-"));
});
after(() => rm(dir, { recursive: true }));

async function open(bytes: Buffer, signal = never): Promise<ArchiveFile> {
  const path = join(dir, `${randomBytes(6).toString("hex")}.tar`);
  await writeFile(path, bytes);
  return ArchiveFile.open(await DiskFile.open(path, "follow"), signal);
}

async function content(archive: ArchiveFile, name: string): Promise<Buffer> {
  const blocks: Buffer[] = [];
  for await (const block of archive.open(name, never)) blocks.push(block);
  return Buffer.concat(blocks);
}

for (const [packing, pack] of packings) {
  test(`a ${packing} tar's files are listed and read by name`, async () => {
    const archive = await open(pack(tarOf(entries)));
    const names = ["a/small", "a/large", "a/empty", "a/link", longName, "twice", "other"];
    assert.deepEqual([...archive.list()], names);
    assert.equal(await archive.size("a/large"), large.length);
    assert.equal(await archive.size("nothing"), undefined);
    assert.deepEqual(await content(archive, "a/large"), large);
    assert.deepEqual(await content(archive, "a/link"), large);
    assert.deepEqual(await content(archive, "a/empty"), Buffer.alloc(0));
    assert.equal(String(await content(archive, longName)), "long");
    assert.equal(String(await content(archive, "twice")), "second");
    await archive.close();
  });

  test(`two files of a ${packing} tar are read at the same time`, async () => {
    const archive = await open(pack(tarOf(entries)));
    const [one, two] = await Promise.all([content(archive, "a/large"), content(archive, "other")]);
    assert.deepEqual(one, large);
    assert.deepEqual(two, large.subarray(0, 300_000));
    await archive.close();
  });

  test(`a small file of a ${packing} tar is read whole, and refused above its limit`, async () => {
    const archive = await open(pack(tarOf(entries)));
    assert.equal(String(await archive.readSmall("a/small", 5, never)), "small");
    assert.deepEqual(await archive.readSmall("a/large", 1_000_000, never), large);
    await assert.rejects(archive.readSmall("a/small", 4, never), refusal("image", /5 bytes, more/));
    await assert.rejects(
      archive.readSmall("b", 9, never),
      refusal("image", /no file of that name/),
    );
    await archive.close();
  });

  test(`a ${packing} tar that is cut inside an entry is refused`, async () => {
    const tar = tarOf([{ path: "a", content: large }]);
    await assert.rejects(open(pack(tar.subarray(0, 300_000))), refusal("image", /cut short/));
  });

  test(`a ${packing} tar that is cut inside a header is refused`, async () => {
    const tar = tarOf([{ path: "a", content: "x" }, { path: "b" }]);
    await assert.rejects(open(pack(tar.subarray(0, 1024 + 100))), refusal("image", /cut short/));
  });

  test(`a ${packing} tar without end blocks is read`, async () => {
    const archive = await open(pack(tarOf([{ path: "a", content: "x" }], { end: false })));
    assert.equal(String(await content(archive, "a")), "x");
    await archive.close();
  });

  test(`reading a file of a ${packing} tar may end early, and the archive is read on`, async () => {
    const archive = await open(pack(tarOf(entries)));
    for await (const _ of archive.open("a/large", never)) break;
    assert.deepEqual(await content(archive, "a/large"), large);
    await archive.close();
  });

  test(`reading a ${packing} tar stops when it is told to`, async () => {
    const stop = new AbortController();
    const archive = await open(pack(tarOf(entries)));
    const reading = async () => {
      for await (const _ of archive.open("a/large", stop.signal)) stop.abort();
    };
    // What was already decompressed may still end the file: either way it stops, and says which.
    await reading().catch(refusal("interrupted", /told to stop/));
    await assert.rejects(open(pack(tarOf(entries)), stop.signal), refusal("interrupted", /stop/));
    await archive.close();
  });

  test(`a ${packing} archive that changes while it is read is an error of the disk`, async () => {
    const path = join(dir, `changing-${packing}.tar`);
    await writeFile(path, pack(tarOf(entries)));
    const archive = await ArchiveFile.open(await DiskFile.open(path, "follow"), never);
    await appendFile(path, Buffer.alloc(512));
    // A compressed one may be found out by what was appended to it.
    await assert.rejects(content(archive, "twice"), refusal("disk", /changed while it was read/));
    await archive.close();
  });
}

test("a gzip archive that is cut inside the compressed stream is refused", async () => {
  const packed = gzipSync(tarOf(entries));
  await assert.rejects(open(packed.subarray(0, packed.length - 1000)), refusal("image", /gzip/));
});

test("a gzip archive with a changed byte is refused, though it is in a part that is not asked for", async () => {
  const packed = gzipSync(tarOf(entries));
  packed[packed.length - 6] = (packed[packed.length - 6] ?? 0) ^ 1;
  await assert.rejects(open(packed), refusal("image", /gzip/));
});

test("the header after a large content is found wherever the content ends", async () => {
  for (const size of [1, 511, 512, 513, 15_360, 15_871, 15_872, 16_384, 16_896, 40_000]) {
    const archive = await open(
      tarOf([
        { path: "a", content: Buffer.alloc(size, 7) },
        { path: "b", content: "b" },
      ]),
    );
    assert.equal((await content(archive, "a")).length, size);
    assert.equal(String(await content(archive, "b")), "b");
    await archive.close();
  }
});
