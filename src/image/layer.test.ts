import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import fc from "fast-check";

import { refusal } from "../../testbed/refusal.ts";
import { buildImage, type LayerSpec } from "../../testbed/image-builder.ts";
import { memoryImage, type MemoryImageOptions } from "../../testbed/memory-image.ts";
import { LarderError } from "../errors.ts";
import { digestOf } from "../registry/digest.ts";
import type { Layer } from "../registry/image.ts";
import { readLayer } from "./layer.ts";

const never = new AbortController().signal;
const entries = [
  { path: "a.tar", content: "the first archive ".repeat(500) },
  { path: "b.tar", content: "b" },
  { path: "empty.tar", content: "" },
];

function layerOf(spec: LayerSpec, options?: MemoryImageOptions): Layer {
  const layer = memoryImage(buildImage({ layers: [spec] }), options).layers[0];
  assert.ok(layer !== undefined);
  return layer;
}

async function filesOf(layer: Layer, signal = never): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  let path = "";
  for await (const events of readLayer(layer, { signal })) {
    for (const event of events) {
      if (event.type === "entry") files[(path = event.entry.path.toString())] = "";
      else files[path] += event.bytes.toString();
    }
  }
  return files;
}

const expected = Object.fromEntries(entries.map(({ path, content }) => [path, content]));

test("a layer is read whatever its compression, and whatever its media type says", async () => {
  const mediaType = "application/vnd.oci.image.layer.v1.tar+gzip";
  for (const compression of ["none", "gzip", "zstd"] as const) {
    assert.deepEqual(await filesOf(layerOf({ entries, compression })), expected);
    assert.deepEqual(await filesOf(layerOf({ entries, compression, mediaType })), expected);
    assert.deepEqual(await filesOf(layerOf({ entries, compression }, { pieceSize: 61 })), expected);
  }
});

test("a layer of no bytes at all is an empty one", async () => {
  assert.deepEqual(await filesOf(layerOf({ tar: Buffer.alloc(0), compression: "none" })), {});
});

test("a layer whose bytes differ from its digest is an error that names both digests", async () => {
  for (const compression of ["none", "gzip", "zstd"] as const) {
    const blob = layerOf({ entries, compression });
    const bytes: Buffer[] = [];
    for await (const piece of blob.open(never)) bytes.push(piece);
    const whole = Buffer.concat(bytes);
    for (const at of [0, 20, whole.length >> 1, whole.length - 1]) {
      const changed = Buffer.from(whole);
      changed.writeUInt8(changed.readUInt8(at) ^ 0x10, at);
      const layer = layerOf({ entries, compression }, { serve: () => changed });
      await assert.rejects(filesOf(layer), (error: unknown) => {
        refusal("digest", /layer 1 of registry.example.com\/app:1/)(error);
        assert.ok(error instanceof LarderError);
        assert.ok(error.message.includes(String(layer.digest)));
        assert.ok(error.message.includes(digestOf(changed)));
        return true;
      });
    }
  }
});

test("a layer that is shorter or longer than declared is an error that names both sizes", async () => {
  const short = layerOf({ entries }, { serve: (blob) => blob.subarray(0, -5) });
  await assert.rejects(filesOf(short), refusal("digest", /expected \d+ bytes but it has \d+/));
  const long = layerOf({ entries }, { serve: (blob) => Buffer.concat([blob, Buffer.alloc(9)]) });
  await assert.rejects(filesOf(long), refusal("digest", /expected \d+ bytes but it has \d+/));
});

test("a layer whose uncompressed content differs from its diff ID is an error that names both", async () => {
  const layer = { ...layerOf({ entries }), diffId: digestOf(Buffer.from("other")) };
  await assert.rejects(filesOf(layer), refusal("digest", /uncompressed content.*expected sha256:/));
});

test("without a recorded digest, as in docker archives, the diff ID alone decides", async () => {
  const { digest: _, ...rest } = layerOf({ entries });
  assert.deepEqual(await filesOf({ ...rest, digest: undefined }), expected);
  const wrong = { ...rest, digest: undefined, diffId: digestOf(Buffer.from("other")) };
  await assert.rejects(filesOf(wrong), refusal("digest", /uncompressed content/));
});

test("bytes after the tar's end are drained and verified", async () => {
  const { tar } = buildImage({ layers: [{ entries }] }).layers[0] ?? assert.fail();
  const longer = Buffer.concat([tar, Buffer.from("trailing bytes ".repeat(50_000))]);
  for (const compression of ["none", "gzip", "zstd"] as const) {
    assert.deepEqual(await filesOf(layerOf({ tar: longer, compression })), expected);
  }
  const layer = { ...layerOf({ tar: longer }), diffId: digestOf(tar) };
  await assert.rejects(filesOf(layer), refusal("digest", /uncompressed content/));
});

test("a layer that its publisher made wrong is an image error, not a digest error", async () => {
  const cut = buildImage({ layers: [{ entries }] }).layers[0]?.tar.subarray(0, 700);
  await assert.rejects(
    filesOf(layerOf({ tar: cut ?? assert.fail() })),
    refusal("image", /ends after/),
  );
  const gzipCut = gzipSync("content that is cut").subarray(0, -6);
  const layer = layerOf({ tar: gzipCut, compression: "none" });
  await assert.rejects(filesOf(layer), refusal("image", /gzip stream is not valid/));
});

test("reading stops at once when told to, and closes the source", async () => {
  const closed: number[] = [];
  const content = Buffer.alloc(32 << 20, "x");
  const layer = layerOf(
    { entries: [{ path: "big.tar", content }], compression: "none" },
    { onClose: (index) => closed.push(index) },
  );
  const stop = new AbortController();
  let blocks = 0;
  await assert.rejects(async () => {
    for await (const _ of readLayer(layer, { signal: stop.signal })) {
      blocks++;
      stop.abort(new Error("enough"));
    }
  }, /enough/);
  assert.ok(blocks < 8, `${blocks} blocks came after the stop`);
  assert.deepEqual(closed, [0]);
});

test("a layer with any byte changed never ends without an error", async () => {
  const built = buildImage({
    layers: (["none", "gzip", "zstd"] as const).map((compression) => ({ entries, compression })),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.nat(2),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      async (index, position, flip) => {
        const serve = (blob: Buffer): Buffer => {
          const changed = Buffer.from(blob);
          const at = position % blob.length;
          changed.writeUInt8(changed.readUInt8(at) ^ flip, at);
          return changed;
        };
        const layer = memoryImage(built, { serve }).layers[index] ?? assert.fail();
        await assert.rejects(filesOf(layer), refusal("digest", /./));
      },
    ),
    { numRuns: 300 },
  );
});
