import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { digestOf } from "../registry/digest.ts";
import {
  belongsToAgent,
  formatSentinel,
  isFileName,
  parseSentinel,
  withMembers,
  type Sentinel,
} from "./sentinel.ts";

const digest = digestOf(Buffer.from("manifest"));

function parse(value: unknown) {
  return parseSentinel(Buffer.from(JSON.stringify(value)));
}

test("a sentinel with digest and files alone is valid: an older agent wrote it", () => {
  assert.deepEqual(parse({ digest, files: ["a.tar"] }).sentinel, { digest, files: ["a.tar"] });
});

test("what is written is read again, whatever the files are called", () => {
  const names = fc.uniqueArray(
    fc.oneof(
      fc.constantFrom("__proto__", "constructor", "toString", "hasOwnProperty", '"', "\\"),
      fc.string({ unit: "binary", minLength: 1, maxLength: 40 }).filter(isFileName),
    ),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(names, fc.nat(), (files, size) => {
      const sentinel: Sentinel = {
        digest,
        files,
        owner: "imagecachectl",
        source: "example.com/app:1",
        archive: "app.tar",
        resolved: digest,
        platform: "linux/arm64/v8",
        layers: [digest],
        sizes: new Map(files.map((file) => [file, size])),
        sums: new Map(files.map((file) => [file, "crc32:0000abcd"])),
      };
      assert.deepEqual(parseSentinel(Buffer.from(formatSentinel(sentinel))).sentinel, sentinel);
    }),
  );
});

test("a sentinel that is not a valid one says what is wrong with it", () => {
  const cases: readonly [unknown, RegExp][] = [
    [[], /not a JSON object/],
    [{ files: [] }, /no valid digest/],
    [{ digest: "sha256:abc", files: [] }, /no valid digest/],
    [{ digest }, /no valid list of files/],
    [{ digest, files: "a" }, /no valid list of files/],
    [{ digest, files: [1] }, /no valid list of files/],
    [{ digest, files: [], owner: 7 }, /"owner" in a wrong form/],
    [{ digest, files: [], resolved: "latest" }, /resolved/],
    [{ digest, files: [], layers: [1] }, /layers/],
    [{ digest, files: [], sizes: { a: -1 } }, /sizes/],
    [{ digest, files: [], sizes: { a: 1.5 } }, /sizes/],
    [{ digest, files: [], sums: { a: "crc32" } }, /sums/],
  ];
  for (const [value, problem] of cases) assert.match(parse(value).problem ?? "", problem);
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(100), Buffer.from([0x22, 0xff, 0x22])]) {
    assert.match(parseSentinel(bytes).problem ?? "", /not a JSON object/);
  }
});

test("a listed file is a base name: nothing in a sentinel leads out of its directory", () => {
  const odd = ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\0", ".image-cache-agent.json"];
  for (const name of [...odd, "x".repeat(256), "é".repeat(128)]) {
    assert.match(parse({ digest, files: ["a", name] }).problem ?? "", /no file name/);
  }
});

test("keys that Larder does not know survive adoption, to the last digit", () => {
  const text = `{"owner":"imagecachectl","digest":"${digest}","files":["a"],"future":{"n":123456789012345678901234567890,"e":1e400,"__proto__":[1.0]}}`;
  const adopted = withMembers(Buffer.from(text), { owner: "image-cache-agent" });
  assert.match(adopted, /123456789012345678901234567890/);
  assert.match(adopted, /1e400/);
  assert.match(adopted, /"__proto__": \[\s*1\.0\s*\]/);
  assert.equal(parseSentinel(Buffer.from(adopted)).sentinel?.owner, "image-cache-agent");
});

test("a directory belongs to the agent when its sentinel names the agent or nobody", () => {
  assert.equal(belongsToAgent({ digest, files: [] }), true);
  assert.equal(belongsToAgent({ digest, files: [], owner: "image-cache-agent" }), true);
  assert.equal(belongsToAgent({ digest, files: [], owner: "imagecachectl" }), false);
  assert.equal(belongsToAgent({ digest, files: [], owner: "somebody" }), false);
});
