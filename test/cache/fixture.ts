/** What the suites of the cache share: images, and filling a cache path with them. */
import { readdir } from "node:fs/promises";

import { Store, type FillOptions, type FillResult } from "../../src/cache/store.ts";
import type { Want } from "../../src/cache/state.ts";
import type { Image } from "../../src/registry/image.ts";
import { buildImage, type Compression, type TarSpec } from "../../testbed/image-builder.ts";
import { memoryImage } from "../../testbed/memory-image.ts";

/** An image of the given layers, lowest first, as any source would hand it over. */
export function imageOf(
  layers: readonly (readonly TarSpec[])[],
  compression: Compression = "none",
): Image {
  return memoryImage(buildImage({ layers: layers.map((entries) => ({ entries, compression })) }));
}

/** The content of an image as one layer of flat files. */
export function filesImage(files: Readonly<Record<string, string | Buffer>>): Image {
  return imageOf([Object.entries(files).map(([path, content]) => ({ path, content }))]);
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
