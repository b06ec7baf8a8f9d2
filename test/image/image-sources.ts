/** Every way to hand an image to Larder, behind one function each, for the suite that all must pass. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";

import { openArchive } from "../../src/image/archive.ts";
import type { Image } from "../../src/registry/image.ts";
import type { Platform } from "../../src/registry/platform.ts";
import { parseReference } from "../../src/registry/reference.ts";
import { Registry } from "../../src/registry/registry.ts";
import { inDirectory, never } from "../../testbed/archive-case.ts";
import {
  dockerArchive,
  ociArchive,
  writeOciLayout,
  type BuiltImage,
  type BuiltIndex,
} from "../../testbed/image-builder.ts";
import { startMisbehavingRegistry } from "../../testbed/misbehaving-registry.ts";

export interface Source {
  readonly name: string;
  /** Whether it holds manifests; else the config's digest stands for the image and layers have none. */
  readonly manifests: boolean;
  /** Whether it stores layers unpacked, so that how they were compressed is gone. */
  readonly unpacked?: boolean;
  /** Opens the image for `use`, and closes and removes everything after it. */
  with<T>(
    image: BuiltImage | BuiltIndex,
    want: Platform,
    use: (image: Image) => Promise<T>,
  ): Promise<T>;
}

const registry: Source = {
  name: "a registry",
  manifests: true,
  async with(built, want, use) {
    const server = await startMisbehavingRegistry();
    server.hold("app", "1", built);
    const options = { environment: {}, insecure: [server.host], notify: () => undefined };
    const client = new Registry({ ...options, limits: { tries: 2, backoffMs: 1 } });
    try {
      return await use(await client.image(parseReference(`${server.host}/app:1`), want, never));
    } finally {
      client.close();
      await server.stop();
    }
  },
};

function archive(
  name: string,
  bytesOf: (image: BuiltImage | BuiltIndex) => Buffer,
  traits: Pick<Source, "manifests" | "unpacked"> = { manifests: true },
): Source {
  return {
    name,
    ...traits,
    with: (built, want, use) =>
      inDirectory(async (dir) => {
        const path = join(dir, "app.tar");
        await writeFile(path, bytesOf(built));
        return useArchive(path, want, use);
      }),
  };
}

const layoutDirectory: Source = {
  name: "an OCI layout directory",
  manifests: true,
  with: (built, want, use) =>
    inDirectory(async (dir) => {
      await writeOciLayout(join(dir, "app"), [{ image: built, tag: "1" }]);
      return useArchive(join(dir, "app"), want, use);
    }),
};

async function useArchive<T>(
  path: string,
  want: Platform,
  use: (image: Image) => Promise<T>,
): Promise<T> {
  const opened = await openArchive(path, want, never);
  try {
    return await use(opened.image);
  } finally {
    await opened.close();
  }
}

function layout(image: BuiltImage | BuiltIndex): Buffer {
  return ociArchive([{ image, tag: "1" }]);
}

function saved(options: Parameters<typeof dockerArchive>[1] = {}) {
  return (image: BuiltImage | BuiltIndex): Buffer => {
    if (image.kind === "index") throw new Error("a docker archive has no index");
    return dockerArchive([{ image, tags: ["app:1"] }], options);
  };
}

const unpacked = { manifests: false, unpacked: true };

export const sources: readonly Source[] = [
  registry,
  archive("an OCI archive", layout),
  archive("an OCI archive, gzip", (image) => gzipSync(layout(image))),
  archive("an OCI archive, zstd", (image) => zstdCompressSync(layout(image))),
  layoutDirectory,
  archive("a docker archive", saved({ legacy: true }), unpacked),
  archive(
    "a docker archive with linked layers",
    saved({ legacy: true, linkedLayers: true }),
    unpacked,
  ),
  archive("a docker archive, gzip", (image) => gzipSync(saved({ legacy: true })(image)), unpacked),
  archive("a docker archive of gzip layers", saved({ legacy: true, storedLayers: true }), {
    manifests: false,
  }),
];
