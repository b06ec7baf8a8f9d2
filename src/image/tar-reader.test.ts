import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import {
  endBlocks,
  pathsIn,
  paxHeader,
  rawEntry,
  rawHeader,
  readAll,
} from "../../test/image/raw-tar.ts";
import { LarderError } from "../errors.ts";
import type { TarEvent } from "./tar-entry.ts";
import { TarReader } from "./tar-reader.ts";

const zeroBlock = Buffer.alloc(512);

function tar(...parts: readonly Buffer[]): Buffer {
  return Buffer.concat([...parts, endBlocks]);
}

/** The message of the refusal, without what all of them begin and end with. */
function refusalOf(archive: Buffer, pieceLength?: number): string {
  try {
    readAll(archive, pieceLength);
  } catch (error) {
    assert.ok(error instanceof LarderError);
    assert.equal(error.code, "image");
    return error.message.replace("cannot read the test archive: ", "");
  }
  return "";
}

const sample = tar(
  rawEntry({ name: "dir/", typeflag: "5" }),
  paxHeader([["path", "dir/long"]]),
  rawEntry({ name: "short" }, "x".repeat(700)),
  rawEntry({ name: "././@LongLink", typeflag: "L", format: "gnu" }, `${"n".repeat(600)}\0`),
  rawEntry({ name: "nnn", format: "gnu" }, "y".repeat(512)),
  rawEntry({ name: "empty" }),
  rawEntry({ name: "link", typeflag: "2", linkName: "empty" }),
);

test("an archive without a byte has no entries", () => {
  assert.deepEqual(readAll(Buffer.alloc(0)), []);
});

test("an archive of end blocks has no entries", () => {
  assert.deepEqual(readAll(endBlocks), []);
});

test("entries come in order, each with its content", () => {
  assert.deepEqual(
    readAll(sample).map(({ entry, content }) => [
      entry.path.toString(),
      entry.kind,
      content.length,
    ]),
    [
      ["dir/", "directory", 0],
      ["dir/long", "file", 700],
      ["n".repeat(600), "file", 512],
      ["empty", "file", 0],
      ["link", "symbolic link", 0],
    ],
  );
});

test("an archive reads the same whatever pieces it comes in", () => {
  const whole = readAll(sample);
  for (const pieceLength of [1, 2, 3, 511, 512, 513, 1000, 1024]) {
    assert.deepEqual(readAll(sample, pieceLength), whole, `pieces of ${pieceLength}`);
  }
});

test("an entry tells where its content starts", () => {
  for (const { entry, content } of readAll(sample, 100)) {
    const found = sample.subarray(entry.offset, entry.offset + entry.size);
    assert.deepEqual(found, content);
  }
});

test("content is passed on as part of the piece it came in, not as a copy", () => {
  const reader = new TarReader("the test archive");
  const archive = tar(rawEntry({ name: "f" }, "x".repeat(1000)));
  const data = [...reader.push(archive)].filter((event) => event.type === "data");
  assert.deepEqual(
    data.map(({ bytes }) => [
      bytes.buffer === archive.buffer,
      bytes.byteOffset - archive.byteOffset,
      bytes.length,
    ]),
    [[true, 512, 1000]],
  );
});

test("an entry is told as soon as its header is there", () => {
  const reader = new TarReader("the test archive");
  const header = rawHeader({ name: "f", size: 1000 });
  assert.equal([...reader.push(header.subarray(0, 511))].length, 0);
  assert.equal([...reader.push(header.subarray(511))].length, 1);
});

for (const [typeflag, kind] of [
  ["0", "file"],
  ["\0", "file"],
  ["1", "hard link"],
  ["2", "symbolic link"],
  ["3", "character device"],
  ["4", "block device"],
  ["5", "directory"],
  ["6", "pipe"],
  ["7", "file"],
  ["D", "unsupported"],
  ["M", "unsupported"],
  ["N", "unsupported"],
  ["V", "unsupported"],
  ["X", "unsupported"],
  ["A", "unsupported"],
  ["9", "unsupported"],
] as const) {
  test(`type flag ${JSON.stringify(typeflag)} is a ${kind}`, () => {
    const [read] = readAll(tar(rawEntry({ name: "e", typeflag })));
    assert.equal(read?.entry.kind, kind);
    assert.equal(read.entry.typeflag, typeflag);
  });
}

test("a file of the oldest archives whose name ends in a slash is a directory", () => {
  const [read] = readAll(tar(rawEntry({ name: "d/", typeflag: "\0", format: "v7" })));
  assert.equal(read?.entry.kind, "directory");
});

test("a size in a directory of the oldest archives stands for no content", () => {
  const directory = rawHeader({ name: "d/", typeflag: "\0", size: 1234 });
  const [read, next] = readAll(tar(directory, rawEntry({ name: "f" }, "x")));
  assert.equal(read?.entry.size, 0);
  assert.equal(next?.content.toString(), "x");
});

test("the content of an entry of unknown type is passed over by its size", () => {
  const archive = tar(rawEntry({ name: "label", typeflag: "V" }, "abc"), rawEntry({ name: "f" }));
  assert.deepEqual(pathsIn(archive), ["label", "f"]);
});

for (const typeflag of ["1", "2", "3", "4", "5", "6"]) {
  test(`a size in an entry of type ${typeflag} stands for no content`, () => {
    const archive = tar(rawHeader({ name: "e", typeflag, size: 1234 }), rawEntry({ name: "f" }));
    assert.deepEqual(
      readAll(archive).map(({ entry }) => [entry.path.toString(), entry.size]),
      [
        ["e", 0],
        ["f", 0],
      ],
    );
  });
}

test("content after a hard link is refused, since it is no header", () => {
  assert.match(
    refusalOf(tar(rawEntry({ name: "l", typeflag: "1" }, "abc"))),
    /at byte 512 .*no tar header/,
  );
});

test("a PAX header's path, link path and size stand for the entry after it, and no other", () => {
  const archive = tar(
    paxHeader([
      ["path", "long/path"],
      ["linkpath", "target"],
      ["size", "3"],
    ]),
    rawEntry({ name: "p", linkName: "t", size: 0 }, "abc"),
    rawEntry({ name: "q", linkName: "u" }, "x"),
  );
  assert.deepEqual(
    readAll(archive).map(({ entry, content }) => [
      entry.path.toString(),
      entry.linkName.toString(),
      content.toString(),
    ]),
    [
      ["long/path", "target", "abc"],
      ["q", "u", "x"],
    ],
  );
});

test("a PAX path keeps bytes that are not UTF-8", () => {
  const path = Buffer.from([0x61, 0xff, 0x62]);
  const archive = tar(paxHeader([["path", path]]), rawEntry({ name: "p" }));
  assert.deepEqual(readAll(archive)[0]?.entry.path, path);
});

test("a PAX header with an empty path leaves the entry's own", () => {
  assert.deepEqual(pathsIn(tar(paxHeader([["path", ""]]), rawEntry({ name: "own" }))), ["own"]);
});

test("an empty PAX header says nothing", () => {
  assert.deepEqual(pathsIn(tar(paxHeader([]), rawEntry({ name: "own" }))), ["own"]);
});

test("PAX records that are not about name or size are passed over", () => {
  const archive = tar(
    paxHeader([
      ["mtime", "1.5"],
      ["SCHILY.xattr.user.x", "\0\0"],
    ]),
    rawEntry({ name: "f" }),
  );
  assert.deepEqual(pathsIn(archive), ["f"]);
});

test("of two PAX headers before an entry the last counts", () => {
  const archive = tar(
    paxHeader([
      ["path", "first"],
      ["linkpath", "first"],
    ]),
    paxHeader([["path", "second"]]),
    rawEntry({ name: "f" }),
  );
  const [read] = readAll(archive);
  assert.equal(read?.entry.path.toString(), "second");
  assert.equal(read.entry.linkName.toString(), "");
});

test("a PAX global header with a comment is passed over", () => {
  const archive = tar(paxHeader([["comment", "a commit"]], "g"), rawEntry({ name: "f" }));
  assert.deepEqual(pathsIn(archive), ["f"]);
});

test("a PAX global header between a PAX header and its entry does not part them", () => {
  const archive = tar(
    paxHeader([["path", "long"]]),
    paxHeader([["comment", "x"]], "g"),
    rawEntry({ name: "f" }),
  );
  assert.deepEqual(pathsIn(archive), ["long"]);
});

for (const keyword of ["path", "linkpath", "size", "GNU.sparse.major"]) {
  test(`a PAX global header with ${keyword} is refused by that name`, () => {
    const archive = tar(paxHeader([[keyword, "1"]], "g"), rawEntry({ name: "f" }));
    assert.match(
      refusalOf(archive),
      new RegExp(`a PAX global header gives all entries the same ${keyword}`),
    );
  });
}

const longName = rawEntry(
  { name: "././@LongLink", typeflag: "L", format: "gnu" },
  `${"n".repeat(300)}\0`,
);
const longLink = rawEntry(
  { name: "././@LongLink", typeflag: "K", format: "gnu" },
  `${"l".repeat(300)}\0`,
);

test("GNU long names and long link names stand for the entry after them, in either order", () => {
  const link = rawEntry({ name: "n", linkName: "l", typeflag: "2", format: "gnu" });
  for (const extensions of [
    [longName, longLink],
    [longLink, longName],
  ]) {
    const [read, next] = readAll(tar(...extensions, link, rawEntry({ name: "next" })));
    assert.equal(read?.entry.path.toString(), "n".repeat(300));
    assert.equal(read.entry.linkName.toString(), "l".repeat(300));
    assert.equal(next?.entry.path.toString(), "next");
  }
});

test("a GNU long name ends at its first NUL, or where its bytes end", () => {
  for (const [body, path] of [
    ["abc\0def\0", "abc"],
    ["abc", "abc"],
    ["\0", "own"],
    ["", "own"],
  ] as const) {
    const extension = rawEntry({ name: "././@LongLink", typeflag: "L", format: "gnu" }, body);
    assert.deepEqual(pathsIn(tar(extension, rawEntry({ name: "own" }))), [path]);
  }
});

test("a GNU long name wins over a PAX path, whichever comes first", () => {
  const pax = paxHeader([["path", "pax"]]);
  const file = rawEntry({ name: "f" });
  assert.deepEqual(pathsIn(tar(pax, longName, file)), ["n".repeat(300)]);
  assert.deepEqual(pathsIn(tar(longName, pax, file)), ["n".repeat(300)]);
});

const mebibyte = 1024 * 1024;

test("a PAX header of 1 MiB is read", () => {
  const pax = (length: number): Buffer => paxHeader([["comment", "c".repeat(length)]]);
  const archive = tar(pax(mebibyte - 17), rawEntry({ name: "f" }));
  assert.equal(archive.readUInt8(124 + 4), "4".charCodeAt(0));
  assert.deepEqual(pathsIn(archive), ["f"]);
});

for (const [typeflag, name] of [
  ["x", "PAX header"],
  ["g", "PAX global header"],
  ["L", "GNU long name"],
  ["K", "GNU long link name"],
] as const) {
  test(`a ${name} over 1 MiB is refused, before any of it is read`, () => {
    assert.match(
      refusalOf(rawHeader({ name: "e", typeflag, size: mebibyte + 1 })),
      new RegExp(
        `at byte 0 of the tar archive: a ${name} has 1048577 bytes, and at most 1048576 are allowed`,
      ),
    );
  });
}

test("a malformed PAX header is refused, with the place of its records", () => {
  const archive = tar(rawEntry({ name: "f" }), rawEntry({ name: "x", typeflag: "x" }, "garbage"));
  assert.match(refusalOf(archive), /^at byte 1024 of the tar archive: a PAX record does not begin/);
});

test("a PAX header's size that no file could have is refused", () => {
  const archive = tar(paxHeader([["size", "-1"]]), rawEntry({ name: "f" }));
  assert.match(refusalOf(archive), /the size in a PAX header is no number that a file could have/);
});

test("a sparse file of old GNU tar is refused by name", () => {
  assert.match(
    refusalOf(tar(rawEntry({ name: "disk.img", typeflag: "S", format: "gnu" }))),
    /entry "disk.img" is sparse \(type S\): .*without sparse files/,
  );
});

test("a sparse file of GNU tar's PAX formats is refused by its own name", () => {
  const archive = tar(
    paxHeader([
      ["GNU.sparse.major", "1"],
      ["GNU.sparse.name", "disk.img"],
    ]),
    rawEntry({ name: "GNUSparseFile.0/disk.img" }),
  );
  assert.match(refusalOf(archive), /entry "disk.img" is sparse \(GNU.sparse.major\)/);
});

test("a sparse file of star is refused by name", () => {
  const archive = tar(paxHeader([["SCHILY.realsize", "5"]]), rawEntry({ name: "disk.img" }));
  assert.match(refusalOf(archive), /entry "disk.img" is sparse \(SCHILY.realsize\)/);
});

test("what follows the end blocks is ignored, whatever it is", () => {
  const archive = tar(rawEntry({ name: "f" }));
  for (const rest of [rawEntry({ name: "g" }), Buffer.from("garbage"), Buffer.alloc(9000, 0xff)]) {
    assert.deepEqual(pathsIn(Buffer.concat([archive, rest])), ["f"]);
    assert.equal(readAll(Buffer.concat([archive, rest]), 7).length, 1);
  }
});

test("an archive may end between two entries without end blocks, or with one of them", () => {
  const file = rawEntry({ name: "f" }, "abc");
  assert.deepEqual(pathsIn(file), ["f"]);
  assert.deepEqual(pathsIn(Buffer.concat([file, zeroBlock])), ["f"]);
});

test("a single zero block between entries is refused", () => {
  const archive = tar(rawEntry({ name: "f" }), zeroBlock, rawEntry({ name: "g" }));
  assert.match(
    refusalOf(archive),
    /^at byte 1024 .*a single block of zeros stands between entries/,
  );
});

test("a header that describes an entry which does not come is refused", () => {
  const pax = paxHeader([["path", "f"]]);
  assert.match(refusalOf(tar(pax)), /a header describes an entry that is missing/);
  assert.match(
    refusalOf(pax),
    /ends after 1024 bytes, inside an entry: only what describes it is there/,
  );
});

test("an archive that ends inside a header is refused", () => {
  assert.match(
    refusalOf(rawHeader({ name: "f" }).subarray(0, 511)),
    /^the tar archive ends after 511 bytes, inside a header: it is cut short/,
  );
});

test("an archive that ends inside an entry is refused, and the entry named", () => {
  assert.match(
    refusalOf(rawEntry({ name: "dir/f" }, "abc").subarray(0, 514)),
    /ends after 514 bytes, inside entry "dir\/f": 1 bytes before its end/,
  );
});

test("an archive that ends before an entry's first byte is refused, and the entry named", () => {
  assert.match(refusalOf(rawHeader({ name: "f", size: 3 })), /inside entry "f": 3 bytes before/);
});

test("an archive that ends inside an entry's padding is refused, and the entry named", () => {
  const archive = rawEntry({ name: "f" }, "abc");
  for (const length of [515, 1023]) {
    assert.match(refusalOf(archive.subarray(0, length)), /inside the padding after entry "f"/);
  }
});

test("an archive that ends inside a PAX header is refused", () => {
  const archive = paxHeader([["path", "abc"]]);
  assert.match(refusalOf(archive.subarray(0, 514)), /inside PAX header: 10 bytes before its end/);
  assert.match(refusalOf(archive.subarray(0, 600)), /inside the padding after PAX header/);
});

test("an archive cut at any byte is refused, except between two entries", () => {
  const starts = new Set([0, 512, 512 + 1024 + 1536, 512 + 1024 + 1536 + 2560]);
  const contentEnd = sample.length - endBlocks.length;
  starts
    .add(contentEnd - 512)
    .add(contentEnd)
    .add(contentEnd + 512);
  for (let length = 0; length < sample.length; length++) {
    const message = refusalOf(sample.subarray(0, length));
    assert.equal(message === "", starts.has(length), `cut at ${length}: ${message}`);
  }
});

test("a long name in an error is shortened", () => {
  const archive = tar(
    paxHeader([
      ["path", "p".repeat(100_000)],
      ["GNU.sparse.map", "1"],
    ]),
    rawEntry({ name: "f" }),
  );
  assert.ok(refusalOf(archive).length < 600);
});

test("after an entry its content can be skipped, and reading goes on where skipData says", () => {
  const reader = new TarReader("the test archive");
  const seen: string[] = [];
  let at = 0;
  while (at < sample.length) {
    const piece = sample.subarray(at, at + 600);
    at += piece.length;
    for (const event of reader.push(piece)) {
      assert.equal(event.type, "entry");
      if (event.type !== "entry") continue;
      seen.push(event.entry.path.toString());
      at = reader.skipData();
      break;
    }
  }
  reader.finish();
  assert.deepEqual(
    seen,
    readAll(sample).map(({ entry }) => entry.path.toString()),
  );
});

test("content can be skipped when some of it has been read, and its padding too", () => {
  const archive = tar(rawEntry({ name: "f" }, "abc"), rawEntry({ name: "g" }));
  for (const cut of [513, 515, 600]) {
    const reader = new TarReader("the test archive");
    for (const _ of reader.push(archive.subarray(0, cut))) void _;
    assert.equal(reader.skipData(), 1024);
    assert.equal([...reader.push(archive.subarray(1024))].length, 1);
  }
});

test("skipping from entry to entry is skipping nothing when they are empty", () => {
  const reader = new TarReader("the test archive");
  for (const _ of reader.push(rawEntry({ name: "f" }))) assert.equal(reader.skipData(), 512);
});

test("a size as large as numbers go is counted, and known to be cut short", () => {
  const size = Buffer.from("80000000001fffffffffffff", "hex");
  const reader = new TarReader("the test archive");
  const [event] = [...reader.push(rawHeader({ name: "f", size }))];
  assert.equal(event?.type === "entry" && event.entry.size, Number.MAX_SAFE_INTEGER);
  assert.throws(() => reader.finish(), /inside entry "f": 9007199254740991 bytes before its end/);
});

test("any bytes at all are read or refused, never anything else", () => {
  const part = fc.oneof(
    fc.constantFrom(zeroBlock, longName, longLink, paxHeader([["path", "p"]])),
    fc
      .record({
        name: fc.string({ maxLength: 100 }),
        typeflag: fc.constantFrom(..."\u000001234567xgLKSVDX".split("")),
        size: fc.nat(2000),
      })
      .map(rawHeader),
    fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
  );
  const archives = fc.array(part, { maxLength: 8 }).map((parts) => Buffer.concat(parts));
  const read = (archive: Buffer, pieceLength: number): unknown => {
    try {
      return readAll(archive, pieceLength);
    } catch (error) {
      assert.ok(error instanceof LarderError);
      return error.message;
    }
  };
  fc.assert(
    fc.property(archives, fc.integer({ min: 1, max: 700 }), (archive, pieceLength) => {
      assert.deepEqual(read(archive, pieceLength), read(archive, archive.length + 1));
    }),
  );
});

test("memory does not grow with the archive: a header after many is read into the same block", () => {
  const reader = new TarReader("the test archive");
  const entry = rawEntry({ name: "f" }, "abc");
  const events: TarEvent[] = [];
  for (let count = 0; count < 1000; count++) events.push(...reader.push(entry));
  reader.finish();
  assert.equal(events.length, 2000);
});
