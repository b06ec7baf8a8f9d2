import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { paxRecord } from "../../test/image/raw-tar.ts";
import { parsePax, paxSize, sparseKeyword } from "./pax.ts";
import { TarFault } from "./tar-fault.ts";

function parse(text: string): [string, string][] {
  return [...parsePax(Buffer.from(text))].map(([keyword, value]) => [keyword, value.toString()]);
}

test("a PAX header without records says nothing", () => {
  assert.deepEqual(parse(""), []);
});

test("PAX records are read one after another", () => {
  assert.deepEqual(parse("12 path=abc\n16 size=1234567\n"), [
    ["path", "abc"],
    ["size", "1234567"],
  ]);
});

test("a PAX value may hold newlines, equals signs and bytes that are not UTF-8", () => {
  const value = Buffer.from([0x0a, 0x3d, 0x20, 0xff, 0xfe, 0x0a]);
  assert.deepEqual(parsePax(paxRecord(["path", value])).get("path"), value);
});

test("of two PAX records with one keyword the last counts", () => {
  assert.deepEqual(parse("10 path=a\n10 path=b\n"), [["path", "b"]]);
});

test("an empty PAX value takes back what its header said before", () => {
  assert.deepEqual(parse("10 path=a\n8 path=\n"), []);
});

test("a PAX value may hold a NUL, except where it is a name", () => {
  assert.deepEqual(parse("14 comment=a\0\n"), [["comment", "a\0"]]);
  for (const keyword of ["path", "linkpath"]) {
    assert.throws(() => parsePax(paxRecord([keyword, "a\0b"])), {
      name: "TarFault",
      message: `the ${keyword} in a PAX header contains a NUL byte`,
    });
  }
});

for (const [what, text] of [
  ["is larger than what is left", "13 path=abc\n"],
  ["is smaller than its record", "11 path=abc\n"],
  ["ends before the keyword does", "5 path=abc\n"],
  ["covers only itself", "2 path=abc\n"],
  ["is zero", "0 path=abc\n"],
  ["is missing", " path=abc\n"],
  ["is negative", "-12 path=abc\n"],
  ["is hexadecimal", "0xc path=abc\n"],
  ["has no end", "12"],
  ["is absurdly long", "99999999999999999999 path=abc\n"],
] as const) {
  test(`a PAX record whose length ${what} is refused`, () => {
    assert.throws(() => parse(text), TarFault);
  });
}

test("a PAX record without a keyword is refused", () => {
  assert.throws(() => parse("7 =abc\n"), TarFault);
});

test("a PAX record without an equals sign is refused, also when a later one has it", () => {
  assert.throws(() => parse("8 pathx\n10 path=b\n"), TarFault);
});

test("a PAX header that ends in other bytes than a record is refused", () => {
  assert.throws(() => parse("12 path=abc\n\0\0\0"), TarFault);
});

test("a PAX size is decimal", () => {
  assert.equal(paxSize(new Map([["size", Buffer.from("8589934592")]])), 8_589_934_592);
  assert.equal(paxSize(new Map()), undefined);
});

for (const size of ["-1", "1.5", "0x10", "9007199254740992", "1e3", " 1", "99999999999999999999"]) {
  test(`a PAX size of ${JSON.stringify(size)} is refused`, () => {
    assert.throws(() => paxSize(new Map([["size", Buffer.from(size)]])), TarFault);
  });
}

test("sparse entries are known by GNU tar's and star's keywords", () => {
  for (const keyword of ["GNU.sparse.major", "GNU.sparse.map", "SCHILY.realsize"]) {
    assert.equal(sparseKeyword(new Map([[keyword, Buffer.from("1")]])), keyword);
  }
  assert.equal(sparseKeyword(new Map([["GNU.volume.label", Buffer.from("1")]])), undefined);
});

test("whatever records are written come back", () => {
  const keyword = fc.stringMatching(/^[a-zA-Z.]{1,20}$/);
  const value = fc.uint8Array({ minLength: 1, maxLength: 120 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(fc.array(fc.tuple(keyword, value)), (records) => {
      fc.pre(records.every(([name]) => name !== "path" && name !== "linkpath"));
      assert.deepEqual(parsePax(Buffer.concat(records.map(paxRecord))), new Map(records));
    }),
  );
});

test("any bytes at all are parsed or refused, never anything else", () => {
  const digits = fc.constantFrom(..."0123456789 =\npath".split(""));
  fc.assert(
    fc.property(
      fc.array(digits).map((parts) => Buffer.from(parts.join(""))),
      (bytes) => {
        try {
          parsePax(bytes);
        } catch (error) {
          assert.ok(error instanceof TarFault);
        }
      },
    ),
  );
});
