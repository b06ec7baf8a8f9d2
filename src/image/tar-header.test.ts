import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { rawHeader } from "../../test/image/raw-tar.ts";
import { TarFault } from "./tar-fault.ts";
import { parseHeader } from "./tar-header.ts";

function pathOf(fields: Parameters<typeof rawHeader>[0]): string | undefined {
  return parseHeader(rawHeader(fields))?.path.toString();
}

function sizeOf(size: number | Buffer): number | undefined {
  return parseHeader(rawHeader({ name: "f", size }))?.size;
}

function faultOf(block: Buffer): string {
  try {
    parseHeader(block);
  } catch (error) {
    if (error instanceof TarFault) return error.message;
    throw error;
  }
  return "";
}

test("a block of zeros is no header", () => {
  assert.equal(parseHeader(Buffer.alloc(512)), undefined);
});

test("a header gives path, link name, size and type flag", () => {
  const block = rawHeader({ name: "a/b", typeflag: "2", linkName: "c", size: 0o1234 });
  assert.deepEqual(parseHeader(block), {
    path: Buffer.from("a/b"),
    linkName: Buffer.from("c"),
    size: 0o1234,
    typeflag: "2",
  });
});

test("a name and a link name that fill their fields have no terminator", () => {
  const header = parseHeader(rawHeader({ name: "n".repeat(100), linkName: "l".repeat(100) }));
  assert.equal(header?.path.toString(), "n".repeat(100));
  assert.equal(header.linkName.toString(), "l".repeat(100));
});

test("names are raw bytes, whatever their encoding", () => {
  const name = Buffer.from([0x66, 0xff, 0xc3, 0x28]);
  assert.deepEqual(parseHeader(rawHeader({ name }))?.path, name);
});

test("what a header gave does not change when its block is used again", () => {
  const block = rawHeader({ name: "a", linkName: "b" });
  const header = parseHeader(block);
  block.fill(0x78);
  assert.equal(header?.path.toString(), "a");
  assert.equal(header.linkName.toString(), "b");
});

test("a ustar header's prefix comes before the name", () => {
  assert.equal(pathOf({ name: "n", prefix: "p/q" }), "p/q/n");
  assert.equal(pathOf({ name: "n", prefix: "p".repeat(155) }), `${"p".repeat(155)}/n`);
});

test("a star header's prefix ends before its times", () => {
  const prefix = `${"p".repeat(131)}00000000000 `;
  assert.equal(pathOf({ name: "n", prefix, format: "star" }), `${"p".repeat(131)}/n`);
});

test("a GNU header has times where ustar has its prefix", () => {
  assert.equal(pathOf({ name: "n", prefix: "14773600000", format: "gnu" }), "n");
});

test("a v7 header has no prefix", () => {
  assert.equal(pathOf({ name: "n", prefix: "rubbish", format: "v7" }), "n");
});

test("a checksum may have been made with signed or with unsigned bytes", () => {
  const name = Buffer.from([0xe9, 0xe8, 0xff]);
  for (const checksum of ["signed", "unsigned"] as const) {
    assert.deepEqual(parseHeader(rawHeader({ name, checksum }))?.path, name);
  }
});

test("a header with a wrong checksum is refused, with both sums named", () => {
  const stored = Number.parseInt(rawHeader({ name: "f" }).toString("latin1", 148, 154), 8);
  assert.equal(
    faultOf(rawHeader({ name: "f", checksum: "wrong" })),
    `no tar header: the checksum in it is ${stored + 1}, that of its bytes ${stored}`,
  );
});

test("a header of which any one byte is changed is refused", () => {
  fc.assert(
    fc.property(fc.nat(511), fc.integer({ min: 1, max: 255 }), (at, change) => {
      // Some bytes of the checksum field have no meaning: its padding, and leading zeros.
      fc.pre(at < 148 || at >= 156);
      const block = rawHeader({ name: "some/file", size: 17 });
      block[at] = (block[at] ?? 0) ^ change;
      assert.match(faultOf(block), /checksum/);
    }),
  );
});

test("what is no tar at all is refused by its checksum", () => {
  assert.match(faultOf(Buffer.from("<!DOCTYPE html>".padEnd(512))), /^no tar header: the checksum/);
});

test("a number is octal, padded with spaces or NULs on either side", () => {
  for (const field of [
    "00000001234\0",
    "00000001234 ",
    "       1234 ",
    "1234\0\0\0\0\0\0\0\0",
    "\0 1234 \0",
  ]) {
    assert.equal(sizeOf(Buffer.from(field.padEnd(12, "\0"))), 0o1234, JSON.stringify(field));
  }
});

test("a number that fills its field has no terminator", () => {
  assert.equal(sizeOf(Buffer.from("777777777777")), 8 ** 12 - 1);
});

test("what follows a number's NUL is ignored", () => {
  assert.equal(sizeOf(Buffer.from("0012\0garbage")), 0o12);
});

test("an empty number is zero", () => {
  assert.equal(sizeOf(Buffer.alloc(12)), 0);
  assert.equal(sizeOf(Buffer.alloc(12, " ")), 0);
});

test("a number that is none is refused", () => {
  for (const field of [
    "12345678\0\0\0\0",
    "-0000000001\0",
    "12 34\0\0\0\0\0\0\0",
    "abc\0\0\0\0\0\0\0\0\0",
  ]) {
    assert.throws(() => sizeOf(Buffer.from(field)), /the size in it is no number/, field);
  }
});

/** GNU's base-256: the first bit set, then a big-endian number. */
function binary(value: bigint): Buffer {
  const hex = BigInt.asUintN(96, value | (1n << 95n)).toString(16);
  return Buffer.from(hex.padStart(24, "0"), "hex");
}

test("a number may be base-256, up to what can be counted exactly", () => {
  for (const value of [0, 1, 8 ** 11, 2 ** 40 + 7, Number.MAX_SAFE_INTEGER]) {
    assert.equal(sizeOf(binary(BigInt(value))), value);
  }
});

test("a base-256 number beyond exact counting is refused", () => {
  for (const value of [2n ** 53n, 2n ** 64n, 2n ** 90n]) {
    assert.throws(() => sizeOf(binary(value)), /the size in a header is too large/);
  }
});

test("a negative number is refused", () => {
  assert.throws(() => sizeOf(binary(-1n)), /the size in a header is negative/);
  assert.throws(() => sizeOf(Buffer.alloc(12, 0xff)), /the size in a header is negative/);
});

test("any size comes back, octal or base-256", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (size) => {
      assert.equal(sizeOf(binary(BigInt(size))), size);
      if (size < 8 ** 11) assert.equal(sizeOf(size), size);
    }),
  );
});
