import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { cached } from "../testbed/cache-folder.ts";
import {
  blobPath,
  buildImage,
  writeOciLayout,
  type Compression,
  type LayerSpec,
} from "../testbed/image-builder.ts";
import { machinePlatform } from "../src/registry/platform.ts";
import { halfCompressible } from "./content.ts";
import { debianContent } from "./debian-content.ts";

const MiB = 1024 * 1024;
/** Changes when what is built changes, so that nobody measures yesterday's images. */
const edition = 1;

export interface BenchImage {
  readonly name: "real" | "gzip" | "zstd" | "many";
  readonly title: string;
  /** Whether each run gets a newly made ext4, where many deleted files slow nobody down. */
  readonly freshDisk: boolean;
  readonly compression: Compression;
  /** An OCI layout directory with the tag `bench`. */
  readonly layout: string;
  readonly layers: readonly { readonly digest: string; readonly size: number }[];
  /** Bytes of all files in it. */
  readonly bytes: number;
  readonly files: number;
}

type Recipe = Omit<BenchImage, "layout" | "layers"> & {
  readonly build: () => Promise<LayerSpec[]>;
};

const big = { files: 3, bytes: 3 * 200 * MiB, freshDisk: false };

const recipes: readonly Recipe[] = [
  {
    ...big,
    name: "real",
    title: "a real image's files, gzip",
    compression: "gzip",
    build: () => bigLayers("gzip", (layer) => debianContent(200 * MiB, layer, 3)),
  },
  {
    ...big,
    name: "gzip",
    title: "three 200 MiB layers, 2:1, gzip",
    compression: "gzip",
    build: () => bigLayers("gzip", (layer) => halfCompressible(200 * MiB, layer + 1)),
  },
  {
    ...big,
    name: "zstd",
    title: "three 200 MiB layers, 2:1, zstd",
    compression: "zstd",
    build: () => bigLayers("zstd", (layer) => halfCompressible(200 * MiB, layer + 1)),
  },
  {
    name: "many",
    title: "20,000 files of 4 KiB, gzip, new ext4",
    files: 20_000,
    bytes: 20_000 * 4096,
    freshDisk: true,
    compression: "gzip",
    build: () => Promise.resolve([{ entries: manyFiles(), compression: "gzip" }]),
  },
];

export const imageNames = recipes.map((recipe) => recipe.name);

/** Builds an image of the benchmark, or finds it in the cache folder. */
export async function benchImage(name: BenchImage["name"]): Promise<BenchImage> {
  const recipe = recipes.find((each) => each.name === name);
  if (recipe === undefined) throw new Error(`no image of the benchmark is named ${name}`);
  const { build, ...facts } = recipe;
  const layout = await cached(`bench/${name}-${edition}`, async (dir) => {
    const image = buildImage({ platform: machinePlatform(), layers: await build() });
    await writeOciLayout(dir, [{ image, tag: "bench" }]);
  });
  return { ...facts, layout, layers: await layersOf(layout) };
}

async function bigLayers(
  compression: Compression,
  content: (layer: number) => Buffer | Promise<Buffer>,
): Promise<LayerSpec[]> {
  const layers: LayerSpec[] = [];
  for (let layer = 0; layer < 3; layer++) {
    const entries = [{ path: `images/file-${layer}.tar`, content: await content(layer) }];
    layers.push({ compression, entries });
  }
  return layers;
}

function manyFiles(): { path: string; content: Buffer }[] {
  return Array.from({ length: 20_000 }, (_, index) => ({
    path: `images/${String(index).padStart(5, "0")}.tar`,
    content: halfCompressible(4096, index + 1),
  }));
}

async function layersOf(layout: string): Promise<BenchImage["layers"]> {
  const index = (await json(join(layout, "index.json"))) as { manifests: { digest: string }[] };
  const [root] = index.manifests;
  if (root === undefined) throw new Error(`${layout}: its index.json is empty; remove the folder`);
  const manifest = (await json(join(layout, blobPath(root.digest)))) as Pick<BenchImage, "layers">;
  return manifest.layers;
}

async function json(path: string): Promise<unknown> {
  return JSON.parse(await readFile(path, "utf8"));
}
