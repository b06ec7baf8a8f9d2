import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { hasFileName, nameFault, pathComponents, quotePath } from "./entry-name.ts";

function normalised(path: string | Buffer): string {
  return pathComponents(Buffer.from(path)).join("/");
}

for (const [path, same] of [
  ["x", "x"],
  ["./x", "x"],
  ["/x", "x"],
  ["//x", "x"],
  ["a//b", "a/b"],
  ["a/./b", "a/b"],
  ["a/b/", "a/b"],
  ["a/b/.", "a/b"],
  ["a/../b", "b"],
  ["../b", "b"],
  ["/../../a/../../b", "b"],
  ["a/b/../..", ""],
  ["", ""],
  [".", ""],
  ["./", ""],
  ["/", ""],
  ["...", "..."],
  ["..a/.b", "..a/.b"],
] as const) {
  test(`${JSON.stringify(path)} is the path ${JSON.stringify(same)} of an image`, () => {
    assert.equal(normalised(path), same);
  });
}

test("paths differ when their bytes do, also where they are not UTF-8", () => {
  const paths = [[0xff], [0xfe], [0xc3, 0xa9], [0xe9], [0x65, 0xcc, 0x81]];
  const keys = new Set(paths.map((bytes) => normalised(Buffer.from(bytes))));
  assert.equal(keys.size, paths.length);
});

test("normalising twice is normalising once, and never leaves the image", () => {
  const part = fc.constantFrom("a", "b", ".", "..", "", "...");
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const once = normalised(parts.join("/"));
      assert.equal(normalised(once), once);
      assert.ok(!once.split("/").includes(".."));
    }),
  );
});

test("a path has a file name unless it is empty or ends in . or ..", () => {
  for (const path of ["a", "a/b", "/a", "a/", "...", ".a", "a.", "..a", "a..", "x/...", "./a//"]) {
    assert.equal(hasFileName(Buffer.from(path)), true, path);
  }
  for (const path of ["", ".", "..", "/", "//", "a/.", "a/..", "./", "../", "a/./", "/.."]) {
    assert.equal(hasFileName(Buffer.from(path)), false, path);
  }
});

test("a base name of 255 bytes is allowed, one of 256 is not, whatever the characters", () => {
  const name = (text: string): string => Buffer.from(text).toString("latin1");
  assert.equal(nameFault(name("n".repeat(255))), undefined);
  assert.match(nameFault(name("n".repeat(256))) ?? "", /256 bytes/);
  assert.equal(nameFault(name("é".repeat(127))), undefined);
  assert.match(nameFault(name("é".repeat(128))) ?? "", /256 bytes/);
});

test("a base name that is not UTF-8 is not allowed", () => {
  for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
    assert.match(nameFault(Buffer.from(bytes).toString("latin1")) ?? "", /not UTF-8/);
  }
});

test("a base name with control characters is not allowed", () => {
  for (const character of ["\n", "\r", "\t", "\x1b", "\x01", "\x7f", "\u0085", "\u009b"]) {
    const name = Buffer.from(`a${character}b`).toString("latin1");
    assert.match(nameFault(name) ?? "", /control character/, JSON.stringify(character));
  }
});

test("other characters are allowed in a base name", () => {
  for (const name of ["a b", "été", "日本.tar", "😀", "a:b", "\\", "-rf", "*", "\u00a0"]) {
    assert.equal(nameFault(Buffer.from(name).toString("latin1")), undefined, name);
  }
});

test("a path in a message is in quotes, and its middle left out where it is long", () => {
  assert.equal(quotePath("a/b"), '"a/b"');
  assert.equal(quotePath(Buffer.from("é")), '"é"');
  const long = quotePath(`start${"x".repeat(5000)}end`);
  assert.ok(long.length < 320);
  assert.match(long, /^"startx+\[\.\.\.\]x+end"$/);
});
