import assert from "node:assert/strict";
import { test } from "node:test";

import { buildImage, type ImageSpec } from "../../testbed/image-builder.ts";
import { memoryImage, type MemoryImageOptions } from "../../testbed/memory-image.ts";
import { LarderError } from "../errors.ts";
import { type Progress, type Sink, unpack } from "./unpack.ts";

const never = new AbortController().signal;

/** Keeps files in memory, and checks that each gets exactly what it was promised. */
class MemorySink implements Sink {
  readonly files = new Map<number, { name: string; content: string; ended: boolean }>();

  create(id: number, name: string, size: number) {
    const file = { name, content: "", ended: false };
    assert.ok(!this.files.has(id));
    this.files.set(id, file);
    return {
      write: async (bytes: Buffer) => {
        assert.ok(!file.ended);
        await Promise.resolve();
        file.content += bytes.toString("latin1");
      },
      end: () => {
        assert.equal(file.content.length, size);
        file.ended = true;
      },
    };
  }
}

async function laidOut(
  spec: ImageSpec,
  options?: MemoryImageOptions,
): Promise<Record<string, string>> {
  const sink = new MemorySink();
  const survivors = await unpack(memoryImage(buildImage(spec), options), sink, { signal: never });
  const result: Record<string, string> = {};
  for (const { id, name } of survivors) {
    const file = sink.files.get(id) ?? assert.fail();
    assert.ok(file.ended);
    result[name] = file.content;
  }
  return result;
}

test("the files of all layers come out, each under its base name with its own content", async () => {
  const layers = Array.from({ length: 7 }, (_, index) => ({
    entries: [
      { path: `images/${index}/`, type: "directory" as const },
      { path: `images/${index}/${index}.tar`, content: `content ${index} `.repeat(30_000) },
      { path: `./empty-${index}.tar`, content: "" },
    ],
    compression: (["none", "gzip", "zstd"] as const)[index % 3] ?? "none",
  }));
  const result = await laidOut({ layers });
  assert.equal(Object.keys(result).length, 14);
  for (let index = 0; index < 7; index++) {
    assert.equal(result[`${index}.tar`], `content ${index} `.repeat(30_000));
    assert.equal(result[`empty-${index}.tar`], "");
  }
});

test("a later layer's file replaces an earlier one's, and a whiteout hides it", async () => {
  const layers = [
    {
      entries: [
        { path: "a.tar", content: "old a" },
        { path: "b.tar", content: "old b" },
      ],
    },
    {
      entries: [
        { path: "./a.tar", content: "new a" },
        { path: ".wh.b.tar", content: "" },
      ],
    },
    { entries: [{ path: "c.tar", content: "c" }] },
  ];
  assert.deepEqual(await laidOut({ layers }), { "a.tar": "new a", "c.tar": "c" });
});

test("a file whose name no disk can hold is harmless when a later layer hides it", async () => {
  const bad = `dir/${"x".repeat(300)}`;
  const layers = [
    {
      entries: [
        { path: bad, content: "never seen" },
        { path: "a.tar", content: "a" },
      ],
    },
    { entries: [{ path: ".wh.dir", content: "" }] },
  ];
  assert.deepEqual(await laidOut({ layers }), { "a.tar": "a" });
  await assert.rejects(laidOut({ layers: layers.slice(0, 1) }), /300 bytes/);
});

test("one layer that fails stops the others and is the error that is thrown", async () => {
  const content = Buffer.alloc(8 << 20, "x");
  const layers = [0, 1, 2, 3, 4].map((n) => ({
    entries: [{ path: `${n}.tar`, content }],
    compression: "none" as const,
  }));
  const closed: number[] = [];
  const serve = (blob: Buffer, index: number): Buffer =>
    index === 1 ? Buffer.from("rubbish".padEnd(2000, "!")) : blob;
  await assert.rejects(
    laidOut({ layers }, { serve, onClose: (index) => closed.push(index) }),
    (error: unknown) =>
      error instanceof LarderError && error.code === "digest" && /layer 2/.test(error.message),
  );
  assert.deepEqual(
    closed.toSorted((a, b) => a - b),
    [0, 1, 2],
  );
});

test("an abort ends the work with the reason given", async () => {
  const stop = new AbortController();
  const reason = new Error("told to stop");
  const built = buildImage({
    layers: [{ entries: [{ path: "a.tar", content: Buffer.alloc(4 << 20) }] }],
  });
  const progress: Progress = {
    layerStarted: () => undefined,
    layerRead: () => stop.abort(reason),
    layerDone: () => assert.fail("the layer cannot be done"),
  };
  const work = unpack(memoryImage(built), new MemorySink(), { signal: stop.signal, progress });
  await assert.rejects(work, reason);
});

test("progress tells of each layer's start, of all its bytes as stored, and of its end", async () => {
  const layers = [0, 1, 2, 3].map((n) => ({
    entries: [{ path: `${n}.tar`, content: "x".repeat(200_000) }],
  }));
  const image = memoryImage(buildImage({ layers }));
  const seen = new Map<number, { read: number; done: boolean }>();
  const at = (index: number) => seen.get(index) ?? assert.fail();
  await unpack(image, new MemorySink(), {
    signal: never,
    progress: {
      layerStarted: (index) => void seen.set(index, { read: 0, done: false }),
      layerRead: (index, bytes) => void (at(index).read += bytes),
      layerDone: (index) => void (at(index).done = true),
    },
  });
  for (const [index, layer] of image.layers.entries()) {
    assert.deepEqual(seen.get(index), { read: layer.size, done: true });
  }
});
