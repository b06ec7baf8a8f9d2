/** Archives that GNU tar and tar-stream made, and what they say is in them, against our reader. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, truncate, writeFile, link } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import fc from "fast-check";
import { extract, pack, type Header } from "tar-stream";

import type { EntryKind } from "../../src/image/tar-entry.ts";
import { TarReader } from "../../src/image/tar-reader.ts";
import { readAll } from "./raw-tar.ts";

const run = promisify(execFile);

/** In another locale GNU tar takes names for something else than UTF-8, and lists them quoted. */
const locale = { env: { ...process.env, LC_ALL: "C.UTF-8" } };

let folder = "";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "larder-tar-oracle-"));
  await mkdir(join(folder, "tree"));
  await fillTree();
});

after(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function tar(name: string, ...options: readonly string[]): Promise<Buffer> {
  const archive = join(folder, name);
  // One time for all: a listing pads times that differ in length, and a path would begin with a space.
  const steady = ["--sort=name", "--mtime=2020-01-01T00:00:00Z"];
  await run("tar", ["-C", join(folder, "tree"), "-cf", archive, ...steady, ...options], locale);
  return readFile(archive);
}

// What is in the tree, by what is needed to say it.

const short = ["plain", "empty", "block", "block+1", "dir", "pipe", "hard-1", "hard-2", "soft"];
const unicode = ["été.tar", "日本"];
const split = [`${"d".repeat(90)}/${"e".repeat(50)}/${"f".repeat(90)}`];
const long = [`${"long-".repeat(45)}.tar`, "soft-long", `${"g".repeat(200)}/${"h".repeat(200)}`];

const contents: Readonly<Record<string, number>> = {
  plain: 1000,
  empty: 0,
  block: 512,
  "block+1": 513,
  "dir/inside": 7,
  "hard-1": 20,
  "été.tar": 3,
  日本: 4,
};

async function fillTree(): Promise<void> {
  const at = (path: string): string => join(folder, "tree", path);
  const files = { ...contents };
  for (const path of [...split, long[0] ?? "", long[2] ?? ""]) files[path] = path.length;
  for (const [path, size] of Object.entries(files)) {
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), Buffer.alloc(size, path));
  }
  await link(at("hard-1"), at("hard-2"));
  await symlink("plain", at("soft"));
  await symlink("t".repeat(300), at("soft-long"));
  await run("mkfifo", [at("pipe")]);
}

interface Listed {
  readonly path: string;
  readonly kind: EntryKind;
  readonly size: number;
  readonly linkName: string;
}

const listedKinds: Readonly<Record<string, EntryKind>> = {
  "-": "file",
  C: "file",
  d: "directory",
  l: "symbolic link",
  h: "hard link",
  c: "character device",
  b: "block device",
  p: "pipe",
};

/** What GNU tar itself says is in an archive. */
async function listed(name: string): Promise<Listed[]> {
  const options = ["--quoting-style=literal", "--numeric-owner", "--full-time"];
  const { stdout } = await run("tar", ["-tvf", join(folder, name), ...options], locale);
  return stdout.trimEnd().split("\n").map(parseListing);
}

function parseListing(line: string): Listed {
  const match = /^(.)\S+ +\S+ +(\S+) \S+ \S+ (.*?)(?: (?:->|link to) (.*))?$/.exec(line);
  const [, flag = "", size = "", path = "", linkName = ""] = match ?? [];
  const kind = listedKinds[flag];
  assert.ok(kind !== undefined, `GNU tar lists an unknown kind: ${line}`);
  return { path, kind, size: kind === "file" ? Number(size) : 0, linkName };
}

function read(archive: Buffer, pieceLength?: number): Listed[] {
  return readAll(archive, pieceLength).map(({ entry }) => ({
    path: entry.path.toString(),
    kind: entry.kind,
    size: entry.size,
    linkName: entry.linkName.toString(),
  }));
}

async function assertContents(archive: Buffer): Promise<void> {
  for (const { entry, content } of readAll(archive, 1000)) {
    if (entry.kind !== "file") continue;
    const expected = await readFile(join(folder, "tree", entry.path.toString()));
    assert.deepEqual(content, expected, entry.path.toString());
  }
}

for (const [format, paths] of [
  ["v7", short],
  ["v7", unicode],
  ["oldgnu", [...short, ...unicode, ...split, ...long]],
  ["gnu", [...short, ...unicode, ...split, ...long]],
  ["ustar", [...short, ...unicode, ...split]],
  ["posix", [...short, ...unicode, ...split, ...long]],
] as const) {
  test(`GNU tar's ${format} archive of ${paths.length} paths reads as GNU tar lists it`, async () => {
    const name = `${format}-${paths.length}.tar`;
    // A v7 archive knows no pipes; GNU tar leaves them out of it.
    const storable = format === "v7" ? paths.filter((path) => path !== "pipe") : paths;
    const archive = await tar(name, `--format=${format}`, ...storable);
    const expected = await listed(name);
    assert.ok(expected.length >= storable.length);
    assert.deepEqual(read(archive), expected);
    assert.deepEqual(read(archive, 100), expected);
    await assertContents(archive);
  });
}

test("GNU tar's numbers, times and owners in PAX headers leave names and sizes alone", async () => {
  const options = ["--format=posix", "--mtime=1900-01-01T00:00:00.5Z", "--owner=a:3000000000"];
  const archive = await tar("pax-times.tar", ...options, "plain", "dir");
  assert.deepEqual(read(archive), await listed("pax-times.tar"));
});

test("GNU tar's PAX global headers are passed over", async () => {
  const archive = await tar("global.tar", "--format=posix", "--pax-option=comment=hello", "plain");
  assert.equal(archive.toString("latin1", 156, 157), "g");
  assert.deepEqual(read(archive), await listed("global.tar"));
});

test("a device that GNU tar packed is a device", async () => {
  const archive = join(folder, "device.tar");
  await run("tar", ["-C", "/dev", "-cf", archive, "null"]);
  assert.deepEqual(read(await readFile(archive)), await listed("device.tar"));
});

test("a volume label is an entry of its own type, and what follows it is read", async () => {
  const archive = await tar("label.tar", "--format=gnu", "--label=backup", "plain");
  assert.deepEqual(
    read(archive).map(({ path, kind }) => [path, kind]),
    [
      ["backup", "unsupported"],
      ["plain", "file"],
    ],
  );
});

test("an incremental dump's directories are entries of their own type, and their content is passed over", async () => {
  const archive = await tar("dump.tar", "--format=gnu", "--incremental", "dir");
  assert.deepEqual(
    read(archive).map(({ path, kind }) => [path, kind]),
    [
      ["dir/", "unsupported"],
      ["dir/inside", "file"],
    ],
  );
});

test("of a multi-volume archive the first is refused, for it ends inside a file", async () => {
  await writeFile(join(folder, "tree", "large"), Buffer.alloc(30_000, "x"));
  const volumes = [1, 2, 3].map((number) => join(folder, `volume-${number}.tar`));
  const targets = volumes.flatMap((volume) => ["-f", volume]);
  const options = ["--format=gnu", "-c", "-M", "-L", "20", ...targets, "large", "plain"];
  await run("tar", ["-C", join(folder, "tree"), ...options]);
  const [first = "", second = ""] = volumes;
  const cut = await readFile(first);
  assert.throws(() => read(cut), /inside entry "large"/);
  const entries = readAll(await readFile(second));
  assert.deepEqual(
    entries.map(({ entry }) => [entry.path.toString(), entry.kind]),
    [
      ["large", "unsupported"],
      ["plain", "file"],
    ],
  );
});

for (const [format, how] of [
  [["--format=gnu"], "type S"],
  [["--format=oldgnu"], "type S"],
  [["--format=posix", "--sparse-version=0.0"], "GNU.sparse.size"],
  [["--format=posix", "--sparse-version=0.1"], "GNU.sparse.size"],
  [["--format=posix", "--sparse-version=1.0"], "GNU.sparse.major"],
] as const) {
  test(`GNU tar's sparse files are refused by name: ${format.join(" ")}`, async () => {
    await writeFile(join(folder, "tree", "holes"), "");
    await truncate(join(folder, "tree", "holes"), 1_000_000);
    const archive = await tar("sparse.tar", ...format, "--sparse", "holes");
    assert.throws(() => read(archive), {
      code: "image",
      message: new RegExp(`entry "holes" is sparse \\(${how.replaceAll(".", "\\.")}\\)`),
    });
  });
}

for (const format of ["gnu", "posix"]) {
  test(`a size of 9 GiB is read from GNU tar's ${format} archive`, async () => {
    const size = 9 * 1024 ** 3;
    await writeFile(join(folder, "tree", "huge"), "");
    await truncate(join(folder, "tree", "huge"), size);
    const pipe = 'tar -C "$1" --format="$2" -cf - huge | head -c 4096';
    const { stdout } = await run("sh", ["-c", pipe, "sh", join(folder, "tree"), format], {
      encoding: "buffer",
    });
    const reader = new TarReader("huge.tar");
    const [event] = [...reader.push(stdout)];
    assert.equal(event?.type === "entry" && event.entry.size, size);
    assert.throws(() => reader.finish(), /inside entry "huge"/);
  });
}

// tar-stream, both ways, over random archives.

const segment = fc.stringMatching(/^[a-zé日]{1,90}$/u);
const streamName = fc
  .array(segment, { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join("/"));
const streamEntry = fc.oneof(
  fc.record({
    type: fc.constant("file" as const),
    name: streamName,
    content: fc.uint8Array({ maxLength: 1200 }),
  }),
  fc.record({ type: fc.constant("directory" as const), name: streamName }),
  fc.record({
    type: fc.constantFrom("symlink" as const, "link" as const),
    name: streamName,
    linkname: streamName,
  }),
  fc.record({
    type: fc.constantFrom("fifo" as const, "character-device" as const),
    name: streamName,
  }),
);
type StreamEntry = Partial<Header> & Pick<Header, "name"> & { readonly content?: Uint8Array };

async function packed(entries: readonly StreamEntry[]): Promise<Buffer> {
  const stream = pack();
  for (const { content, ...header } of entries) {
    if (content === undefined) stream.entry(header);
    else stream.entry(header, Buffer.from(content));
  }
  stream.finalize();
  return buffer(stream);
}

async function unpacked(archive: Buffer): Promise<unknown[]> {
  const stream = extract();
  stream.end(archive);
  const entries: unknown[] = [];
  for await (const entry of stream) {
    const { name, type, size, linkname } = entry.header;
    entries.push([name.replace(/\/$/, ""), type, size, linkname ?? "", await buffer(entry)]);
  }
  return entries;
}

const streamTypes: Readonly<Record<EntryKind, string>> = {
  file: "file",
  directory: "directory",
  "symbolic link": "symlink",
  "hard link": "link",
  "character device": "character-device",
  "block device": "block-device",
  pipe: "fifo",
  unsupported: "",
};

test("what tar-stream packs reads as tar-stream itself reads it", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(streamEntry, { maxLength: 6 }),
      fc.integer({ min: 1, max: 3000 }),
      async (entries, pieceLength) => {
        const archive = await packed(entries);
        const ours = readAll(archive, pieceLength).map(({ entry, content }) => [
          entry.path.toString().replace(/\/$/, ""),
          streamTypes[entry.kind],
          entry.size,
          entry.linkName.toString(),
          content,
        ]);
        assert.deepEqual(ours, await unpacked(archive));
        assert.equal(ours.length, entries.length);
      },
    ),
  );
});
