import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { digestOf } from "../registry/digest.ts";
import { sentinelPieces } from "./sentinel-pieces.ts";
import { formatSentinel, isFileName, parseSentinel, type Sentinel } from "./sentinel.ts";

const digest = digestOf(Buffer.from("manifest"));

function sentinelOf(files: readonly string[]): Sentinel {
  return {
    digest,
    files: files.toSorted(),
    owner: "imagecachectl",
    source: 'example.com/"app":1',
    resolved: digest,
    layers: [digest, digest],
    sizes: new Map(files.map((file, index) => [file, index])),
    sums: new Map(files.map((file) => [file, "crc32:0000abcd"])),
  };
}

/** Enough files that a sentinel is long, whatever other names there are. */
const many = Array.from({ length: 2500 }, (_, index) => `file ${index}.tar`);

test("a sentinel in pieces has the bytes that it has as a whole, whatever the files are called", () => {
  const names = fc.uniqueArray(
    fc.oneof(
      fc.constantFrom("__proto__", "constructor", '"', "\\", "00", "1e3", "4294967295"),
      fc.nat().map(String),
      fc.string({ unit: "binary", minLength: 1, maxLength: 40 }).filter(isFileName),
    ),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(names, fc.boolean(), (some, long) => {
      const sentinel = sentinelOf(long ? [...many, ...some] : some);
      assert.equal([...sentinelPieces(sentinel)].join(""), formatSentinel(sentinel));
    }),
  );
});

test("a sentinel in pieces is the same at every length about that of a piece", () => {
  for (const length of [0, 1, 999, 1000, 1001, 1999, 2000, 2001]) {
    const sentinel = sentinelOf(many.slice(0, length));
    assert.equal([...sentinelPieces(sentinel)].join(""), formatSentinel(sentinel));
  }
});

test("what an older agent left out of a long sentinel stays out", () => {
  const sentinel: Sentinel = { digest, files: many };
  const text = [...sentinelPieces(sentinel)].join("");
  assert.equal(text, formatSentinel(sentinel));
  assert.deepEqual(parseSentinel(Buffer.from(text)).sentinel, sentinel);
});

test("no piece of a long sentinel is long", () => {
  const longest = Math.max(...sentinelPieces(sentinelOf(many)).map((piece) => piece.length));
  assert.ok(longest < 64 * 1024, `a piece has ${longest} characters`);
});
