/** Writes built images as an OCI image layout: files in memory, a directory, or a tar of it. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import {
  descriptor,
  manifestsOf,
  type BuiltImage,
  type BuiltIndex,
  type PlatformSpec,
} from "./built-image.ts";
import { tarOf, type TarSpec } from "./tar-writer.ts";

/** One descriptor of `index.json`. */
export interface LayoutRoot {
  readonly image: BuiltImage | BuiltIndex;
  /** Annotation `org.opencontainers.image.ref.name`. */
  readonly tag?: string;
  /** Annotation `io.containerd.image.name`, as docker and containerd write it. */
  readonly name?: string;
  /** Declared in the descriptor; default none. */
  readonly platform?: PlatformSpec;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Path to content of every file of the layout, relative to its root. */
export function ociLayoutFiles(roots: readonly LayoutRoot[]): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (const { image } of roots) {
    for (const [digest, bytes] of image.blobs) files.set(blobPath(digest), bytes);
    for (const each of manifestsOf(image)) files.set(blobPath(each.digest), each.manifest);
  }
  files.set("oci-layout", json({ imageLayoutVersion: "1.0.0" }));
  files.set(
    "index.json",
    json({
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.index.v1+json",
      manifests: roots.map(rootDescriptor),
    }),
  );
  return files;
}

/** Writes the layout below `dir`, which is made where missing. */
export async function writeOciLayout(dir: string, roots: readonly LayoutRoot[]): Promise<void> {
  for (const [path, bytes] of ociLayoutFiles(roots)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), bytes);
  }
}

/** The layout as a tar. */
export function ociArchive(roots: readonly LayoutRoot[]): Buffer {
  return tarOf(tarEntries(ociLayoutFiles(roots)));
}

/** Tar entries for files, each directory before what is in it, in the order of their names. */
export function tarEntries(files: ReadonlyMap<string, Buffer>): TarSpec[] {
  const directories = new Set<string>();
  for (const path of files.keys()) {
    for (let dir = dirname(path); dir !== "."; dir = dirname(dir)) directories.add(`${dir}/`);
  }
  return [
    ...[...directories].map((path): TarSpec => ({ path, type: "directory" })),
    ...[...files].map(([path, content]): TarSpec => ({ path, content })),
  ].sort((a, b) => (String(a.path) < String(b.path) ? -1 : 1));
}

export function blobPath(digest: string): string {
  return `blobs/${digest.replace(":", "/")}`;
}

function rootDescriptor(root: LayoutRoot) {
  const annotations = {
    ...(root.tag === undefined ? {} : { "org.opencontainers.image.ref.name": root.tag }),
    ...(root.name === undefined ? {} : { "io.containerd.image.name": root.name }),
    ...root.annotations,
  };
  return {
    ...descriptor(root.image.mediaType, root.image.manifest),
    ...(root.platform === undefined ? {} : { platform: root.platform }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
