/** What the suites of the cache share: a cache path of their own, and images to fill it with. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

import { Store, type FillOptions, type FillResult } from "../../src/cache/store.ts";
import type { Want } from "../../src/cache/state.ts";
import type { Image } from "../../src/registry/image.ts";
import { buildImage, type Compression, type TarSpec } from "../../testbed/image-builder.ts";

/** A directory that is gone when the test is. */
export async function tempDirectory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "larder-cache-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** An image of the given layers, lowest first, as any source would hand it over. */
export function imageOf(
  layers: readonly (readonly TarSpec[])[],
  compression: Compression = "none",
): Image {
  const built = buildImage({ layers: layers.map((entries) => ({ entries, compression })) });
  return {
    name: "registry.example.com/app:1",
    digest: built.digest,
    resolved: built.digest,
    platform: built.platform,
    layers: built.layers.map(({ blob, digest, diffId, mediaType }, index) => ({
      name: `layer ${index + 1} of registry.example.com/app:1`,
      mediaType,
      digest,
      diffId,
      size: blob.length,
      open: (signal) => inBlocks(blob, signal),
    })),
  };
}

/** The content of an image as one layer of flat files. */
export function filesImage(files: Readonly<Record<string, string | Buffer>>): Image {
  return imageOf([Object.entries(files).map(([path, content]) => ({ path, content }))]);
}

async function* inBlocks(bytes: Buffer, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 64 * 1024) {
    signal.throwIfAborted();
    yield bytes.subarray(at, at + 64 * 1024);
  }
}

export interface FillRequest extends Partial<FillOptions> {
  readonly name?: string;
  readonly want?: Want;
}

/** A fill with everything that a test does not care about. */
export async function fill(
  path: string,
  image: Image | (() => Promise<Image>),
  { name = "app", want = {}, ...options }: FillRequest = {},
): Promise<FillResult> {
  const store = await Store.open(path);
  const open = typeof image === "function" ? image : async () => image;
  return store.fill(name, want, open, {
    signal: new AbortController().signal,
    owner: "imagecachectl",
    ...options,
  });
}

/** Everything directly in a directory, hidden entries too, sorted. */
export async function entriesOf(path: string): Promise<string[]> {
  return (await readdir(path)).sort();
}

/** Waits until a condition holds, and fails when it does not within ten seconds. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ten seconds`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}
