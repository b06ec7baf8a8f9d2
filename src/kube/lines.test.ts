import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { LineReader, LineTooLong } from "./lines.ts";

/** Cut into pieces of these sizes, the last one as long as it takes. */
function pieces(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const cut: Buffer[] = [];
  let from = 0;
  for (const size of sizes) {
    cut.push(bytes.subarray(from, from + size));
    from += size;
  }
  return [...cut, bytes.subarray(from)];
}

test("lines are the same however the bytes come, characters in pieces included", () => {
  const line = fc.string({ unit: "grapheme", minLength: 1 }).map((text) => `{${text}}`);
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat({ max: 20 })), (lines, sizes) => {
      const wanted = lines.map((text) => text.replaceAll("\n", " "));
      const bytes = Buffer.from(wanted.map((text) => `${text}\n`).join(""));
      const reader = new LineReader(1_000_000);
      const got = pieces(bytes, sizes).flatMap((piece) => [...reader.push(piece)]);
      assert.deepEqual(got, wanted);
      assert.equal(reader.cut, false);
    }),
  );
});

test("empty lines and carriage returns are passed over", () => {
  const reader = new LineReader(100);
  assert.deepEqual([...reader.push(Buffer.from("\n\r\n{}\r\n\n"))], ["{}"]);
});

test("a line that has begun and not ended is cut", () => {
  const reader = new LineReader(100);
  assert.deepEqual([...reader.push(Buffer.from('{}\n{"type"'))], ["{}"]);
  assert.equal(reader.cut, true);
});

test("a line that is longer than allowed is an error, whether it ends or not", () => {
  assert.deepEqual([...new LineReader(4).push(Buffer.from("1234\n"))], ["1234"]);
  assert.throws(() => [...new LineReader(4).push(Buffer.from("12345"))], LineTooLong);
  const reader = new LineReader(4);
  assert.deepEqual([...reader.push(Buffer.from("123"))], []);
  assert.throws(() => [...reader.push(Buffer.from("45\n"))], LineTooLong);
});
