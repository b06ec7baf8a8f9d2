/** Builds whole images in memory for tests: manifests, configs, layers and indexes, all digests true. */
import { gzipSync, zstdCompressSync } from "node:zlib";

import { digestOf, type Digest } from "../src/registry/digest.ts";
import { tarOf, type TarSpec } from "./tar-writer.ts";

export interface PlatformSpec {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string;
}

export type Compression = "none" | "gzip" | "zstd";

export interface LayerSpec {
  readonly entries?: readonly TarSpec[];
  /** The tar itself, where `entries` cannot say what is wanted. */
  readonly tar?: Buffer;
  /** Default `gzip`. */
  readonly compression?: Compression;
  readonly mediaType?: string;
}

export interface ImageSpec {
  readonly layers: readonly LayerSpec[];
  /** Default linux/amd64, whatever the machine; `null`: the config declares none. */
  readonly platform?: PlatformSpec | null;
  /** Docker schema 2 media types in place of OCI's. */
  readonly docker?: boolean;
  /** Fields of the config to add or replace; `undefined` removes one. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Fields of the manifest to add or replace; `undefined` removes one. */
  readonly manifest?: Readonly<Record<string, unknown>>;
}

export interface BuiltLayer {
  /** The bytes as stored. */
  readonly blob: Buffer;
  readonly digest: Digest;
  readonly diffId: Digest;
  readonly mediaType: string;
  readonly tar: Buffer;
}

export interface BuiltImage {
  readonly kind: "image";
  readonly manifest: Buffer;
  readonly mediaType: string;
  readonly digest: Digest;
  readonly platform: PlatformSpec | undefined;
  readonly config: Buffer;
  readonly configDigest: Digest;
  readonly layers: readonly BuiltLayer[];
  /** Config and layers by digest, without the manifest. */
  readonly blobs: Map<string, Buffer>;
}

export interface BuiltIndex {
  readonly kind: "index";
  /** The index itself. */
  readonly manifest: Buffer;
  readonly mediaType: string;
  readonly digest: Digest;
  readonly images: readonly (BuiltImage | BuiltIndex)[];
  /** Configs and layers of all its images by digest, without manifests. */
  readonly blobs: Map<string, Buffer>;
}

const oci = {
  manifest: "application/vnd.oci.image.manifest.v1+json",
  index: "application/vnd.oci.image.index.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: {
    none: "application/vnd.oci.image.layer.v1.tar",
    gzip: "application/vnd.oci.image.layer.v1.tar+gzip",
    zstd: "application/vnd.oci.image.layer.v1.tar+zstd",
  },
} as const;

const docker = {
  manifest: "application/vnd.docker.distribution.manifest.v2+json",
  index: "application/vnd.docker.distribution.manifest.list.v2+json",
  config: "application/vnd.docker.container.image.v1+json",
  layer: {
    none: "application/vnd.docker.image.rootfs.diff.tar",
    gzip: "application/vnd.docker.image.rootfs.diff.tar.gzip",
    zstd: "application/vnd.docker.image.rootfs.diff.tar.zstd",
  },
} as const;

/** An image of `layers`, lowest first. The same spec gives the same bytes. */
export function buildImage(spec: ImageSpec): BuiltImage {
  const types = spec.docker === true ? docker : oci;
  const layers = spec.layers.map((layer) => buildLayer(layer, types.layer));
  const platform =
    spec.platform === undefined
      ? { os: "linux", architecture: "amd64" }
      : (spec.platform ?? undefined);
  const config = json({
    created: "2020-01-01T00:00:00Z",
    ...platform,
    config: {},
    rootfs: { type: "layers", diff_ids: layers.map((layer) => layer.diffId) },
    ...spec.config,
  });
  const manifest = json({
    schemaVersion: 2,
    mediaType: types.manifest,
    config: descriptor(types.config, config),
    layers: layers.map((layer) => descriptor(layer.mediaType, layer.blob)),
    ...spec.manifest,
  });
  const blobs = new Map<string, Buffer>([[digestOf(config), config]]);
  for (const layer of layers) blobs.set(layer.digest, layer.blob);
  return {
    kind: "image",
    manifest,
    mediaType: types.manifest,
    digest: digestOf(manifest),
    platform,
    config,
    configDigest: digestOf(config),
    layers,
    blobs,
  };
}

/** An index over images; an entry without a platform takes its image's, `null` declares none. */
export function buildIndex(
  images: readonly {
    readonly image: BuiltImage | BuiltIndex;
    readonly platform?: PlatformSpec | null;
    readonly annotations?: Readonly<Record<string, string>>;
  }[],
  asDocker = false,
): BuiltIndex {
  const types = asDocker ? docker : oci;
  const manifest = json({
    schemaVersion: 2,
    mediaType: types.index,
    manifests: images.map(({ image, platform, annotations }) => ({
      ...descriptor(image.mediaType, image.manifest),
      platform:
        platform === undefined && image.kind === "image" ? image.platform : (platform ?? undefined),
      annotations,
    })),
  });
  return {
    kind: "index",
    manifest,
    mediaType: types.index,
    digest: digestOf(manifest),
    images: images.map(({ image }) => image),
    blobs: new Map(images.flatMap(({ image }) => [...image.blobs])),
  };
}

/** Every manifest and index below `image`, itself last, as a registry wants them pushed. */
export function manifestsOf(image: BuiltImage | BuiltIndex): (BuiltImage | BuiltIndex)[] {
  return image.kind === "index" ? [...image.images.flatMap(manifestsOf), image] : [image];
}

/** A descriptor of `bytes`, true in size and digest. */
export function descriptor(mediaType: string, bytes: Buffer) {
  return { mediaType, digest: digestOf(bytes), size: bytes.length };
}

function buildLayer(spec: LayerSpec, types: Readonly<Record<Compression, string>>): BuiltLayer {
  const compression = spec.compression ?? "gzip";
  const tar = spec.tar ?? tarOf(spec.entries ?? []);
  const blob = compress(tar, compression);
  const mediaType = spec.mediaType ?? types[compression];
  return { blob, digest: digestOf(blob), diffId: digestOf(tar), mediaType, tar };
}

function compress(tar: Buffer, compression: Compression): Buffer {
  if (compression === "gzip") return gzipSync(tar);
  return compression === "zstd" ? zstdCompressSync(tar) : tar;
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
