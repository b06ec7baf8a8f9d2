import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";

import fc from "fast-check";

import { refusal } from "../../testbed/refusal.ts";
import { LarderError } from "../errors.ts";
import { compressionOf, decompress } from "./decompress.ts";

const text = Buffer.from("some bytes that compress well ".repeat(20_000));
const noise = randomBytes(300_000);
const skippable = Buffer.concat([
  Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 5, 0, 0, 0]),
  Buffer.from("hello"),
]);

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function inflate(bytes: Buffer, pieceSize = 65_536): Promise<Buffer> {
  const blocks: Buffer[] = [];
  for await (const block of decompress(pieces(bytes, pieceSize), "layer")) blocks.push(block);
  return Buffer.concat(blocks);
}

test("compression is told by content: gzip, zstd, a skippable zstd frame first, or none", () => {
  assert.equal(compressionOf(gzipSync(text)), "gzip");
  assert.equal(compressionOf(zstdCompressSync(text)), "zstd");
  assert.equal(compressionOf(skippable), "zstd");
  assert.equal(compressionOf(text), "none");
  assert.equal(compressionOf(Buffer.alloc(0)), "none");
  assert.equal(compressionOf(Buffer.from([0x28])), "none");
});

test("what is not compressed passes as it is", async () => {
  for (const plain of [Buffer.alloc(0), Buffer.from("x"), Buffer.from("abc"), text, noise]) {
    for (const size of [1000, 65_536]) assert.deepEqual(await inflate(plain, size), plain);
  }
});

test("gzip with several members is read to its end", async () => {
  const members = Buffer.concat([
    gzipSync(text),
    gzipSync(noise),
    gzipSync(Buffer.alloc(0)),
    gzipSync(text),
  ]);
  for (const size of [997, 65_536, 1 << 20]) {
    assert.deepEqual(await inflate(members, size), Buffer.concat([text, noise, text]));
  }
});

test("zstd with several frames and skippable frames between them is read to its end", async () => {
  const frames = Buffer.concat([
    skippable,
    zstdCompressSync(text),
    skippable,
    zstdCompressSync(noise),
    zstdCompressSync(text),
    skippable,
  ]);
  for (const size of [997, 65_536, 1 << 20]) {
    assert.deepEqual(await inflate(frames, size), Buffer.concat([text, noise, text]));
  }
});

test("zero padding after a gzip or zstd stream is accepted", async () => {
  for (const stream of [gzipSync(text), zstdCompressSync(text)]) {
    for (const zeros of [1, 3, 512, 1 << 20]) {
      assert.deepEqual(await inflate(Buffer.concat([stream, Buffer.alloc(zeros)])), text);
    }
  }
});

test("bytes after a gzip or zstd stream that are no further member are an error", async () => {
  for (const stream of [gzipSync(text), zstdCompressSync(text)]) {
    for (const tail of ["j", "junk", "junk and more of it than a header has", "\0\0\0\0junk"]) {
      const bytes = Buffer.concat([stream, Buffer.from(tail)]);
      for (const size of [stream.length, 65_536, 7]) {
        await assert.rejects(inflate(bytes, size), refusal("image", /follow its|not valid/));
      }
    }
  }
});

test("a further member after zero padding is an error, since readers disagree about it", async () => {
  const bytes = Buffer.concat([gzipSync(text), Buffer.alloc(512), gzipSync(text)]);
  await assert.rejects(inflate(bytes), refusal("image", /follow its gzip stream/));
});

test("a stream that ends anywhere before its end is an error", async () => {
  const small = Buffer.from("short text, short stream");
  for (const stream of [gzipSync(small), zstdCompressSync(small)]) {
    for (let length = 4; length < stream.length; length++) {
      await assert.rejects(
        inflate(stream.subarray(0, length)),
        refusal("image", /not valid/),
        `${length}`,
      );
    }
  }
});

test("a second member or frame that is cut anywhere is an error", async () => {
  const small = Buffer.from("short text, short stream");
  for (const stream of [gzipSync(small), zstdCompressSync(small), skippable]) {
    const first = stream === skippable ? zstdCompressSync(small) : stream;
    for (let length = 1; length < stream.length; length++) {
      const bytes = Buffer.concat([first, stream.subarray(0, length)]);
      for (const size of [first.length, 65_536]) {
        await assert.rejects(
          inflate(bytes, size),
          refusal("image", /not valid|follow its/),
          `${length}`,
        );
      }
    }
  }
});

test("a zstd frame whose own last bytes look like the start of another is whole", async () => {
  // The checksum decides how a frame ends; try contents until one ends in the magic's first byte.
  for (let n = 0, found = 0; found < 3; n++) {
    const content = Buffer.from(`content ${n}`);
    const frame = zstdCompressSync(content, { params: { 201: 1 } });
    if (frame.at(-1) !== 0x28 && (frame.at(-1) ?? 0) >> 4 !== 5) continue;
    found++;
    assert.deepEqual(await inflate(frame), content);
  }
});

test("a zstd window over 128 MiB is refused with what to do about it", async () => {
  // A frame header that declares a window of 2^31 bytes (RFC 8878, 3.1.1.1.2), then an empty block.
  const frame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x01, 0x00, 0x00]);
  await assert.rejects(inflate(frame), refusal("image", /without --long/));
});

test("any changed byte gives the right content or an error, never other content without an error", async () => {
  const content = Buffer.from("a layer's content, a layer's content, a layer's content");
  const checksummed = zstdCompressSync(content, { params: { 201: 1 } });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(gzipSync(content), checksummed),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      async (stream, position, flip) => {
        const bytes = Buffer.from(stream);
        const at = position % bytes.length;
        bytes.writeUInt8(bytes.readUInt8(at) ^ flip, at);
        try {
          const result = await inflate(bytes);
          // A magic number that was hit makes it "not compressed": the digest tells then.
          assert.ok(result.equals(content) || result.equals(bytes));
        } catch (error) {
          assert.ok(error instanceof LarderError && error.code === "image", String(error));
        }
      },
    ),
    { numRuns: 600 },
  );
});

test("an error of the source reaches the reader as it is", async () => {
  const cause = new Error("the disk went away");
  async function* failing(): AsyncGenerator<Buffer> {
    yield gzipSync(noise).subarray(0, 100_000);
    throw cause;
  }
  await assert.rejects(async () => {
    for await (const block of decompress(failing(), "layer")) void block;
  }, cause);
});

test("a reader that stops early closes the source", async () => {
  let closed = false;
  async function* endless(): AsyncGenerator<Buffer> {
    try {
      const member = gzipSync(noise);
      for (;;) yield member;
    } finally {
      closed = true;
    }
  }
  for await (const block of decompress(endless(), "layer")) {
    assert.ok(block.length > 0);
    break;
  }
  assert.ok(closed);
});

test("memory does not grow with what comes out", async () => {
  const bomb = gzipSync(Buffer.alloc(256 << 20));
  let bytes = 0;
  const before = process.memoryUsage().rss;
  for await (const block of decompress(pieces(bomb, 65_536), "layer")) bytes += block.length;
  assert.equal(bytes, 256 << 20);
  assert.ok(process.memoryUsage().rss - before < 64 << 20);
});
