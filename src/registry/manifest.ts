import { LarderError } from "../errors.ts";
import { malformed, parseDescriptor, parsePlatformObject } from "./descriptor.ts";
import { isDigest } from "./digest.ts";
import type { Digest } from "./digest.ts";
import type { Descriptor } from "./image.ts";
import { asObject, member, parseObject, text } from "./json.ts";
import type { JsonObject } from "./json.ts";
import { essence, isIndex, isManifest, isSchema1, ociIndex, ociManifest } from "./media-types.ts";
import type { Platform } from "./platform.ts";

/** An index (or docker manifest list): one image for several platforms. */
export interface Index {
  readonly kind: "index";
  readonly mediaType: string;
  readonly manifests: readonly Descriptor[];
}

/** The manifest of one image. */
export interface Manifest {
  readonly kind: "manifest";
  readonly mediaType: string;
  readonly artifactType: string | undefined;
  readonly config: Descriptor;
  /** Lowest first. */
  readonly layers: readonly Descriptor[];
}

/** What Larder reads in an image's config. */
export interface Config {
  readonly platform: Platform | undefined;
  /** Digests of the uncompressed layers, lowest first. */
  readonly diffIds: readonly Digest[];
}

/** Docker makes at most 127 layers and overlayfs mounts 500; beyond this it is an attack on memory. */
export const maxLayers = 1_000;
/** Public multi-platform images have tens of entries; an entry of this many costs a megabyte. */
const maxEntries = 10_000;

/**
 * Parses a manifest or an index.
 * @param where for messages: `registry.example.com/app:1`
 * @param declared the media type that a Content-Type or a descriptor gives it; empty or generic: none
 * @throws LarderError `image`
 */
export function parseManifest(bytes: Buffer, where: string, declared?: string): Index | Manifest {
  const object = parseObject(bytes);
  if (object === undefined) throw malformed(where, "its manifest is not a JSON object");
  const mediaType = mediaTypeOf(object, where, essence(declared));
  refuseSchema1(object, mediaType, where);
  refuseAmbiguous(object, where);
  if (isIndex(mediaType)) return indexOf(object, mediaType, where);
  if (isManifest(mediaType)) return manifestOf(object, mediaType, where);
  throw notAnImage(where, mediaType === "" ? "a JSON object without a media type" : mediaType);
}

function mediaTypeOf(object: JsonObject, where: string, declared: string): string {
  const own = text(object, "mediaType")?.toLowerCase() ?? "";
  if (own !== "" && declared !== "" && own !== declared) {
    throw malformed(where, `it is declared as ${declared} but says of itself that it is ${own}`);
  }
  if (own !== "" || declared !== "") return own || declared;
  // OCI makes the field optional; only then does the shape decide.
  if (Array.isArray(member(object, "manifests"))) return ociIndex;
  return asObject(member(object, "config")) === undefined ? "" : ociManifest;
}

function refuseSchema1(object: JsonObject, mediaType: string, where: string): void {
  const version = member(object, "schemaVersion");
  if (!isSchema1(mediaType) && version !== 1 && member(object, "fsLayers") === undefined) {
    if (version === undefined || version === 2) return;
    throw malformed(where, "its manifest has a schema version other than 2");
  }
  throw new LarderError("image", {
    what: `cannot use ${where}`,
    why: "it has a docker schema 1 manifest, a format from before 2016 whose layers cannot be checked",
    todo: "push the image again with a current docker, podman or buildkit, which writes schema 2 or OCI",
  });
}

/** One text that is both would be a different image to different readers. */
function refuseAmbiguous(object: JsonObject, where: string): void {
  if (member(object, "manifests") === undefined || member(object, "layers") === undefined) return;
  throw malformed(
    where,
    "its manifest has both `manifests` and `layers`, so it is two things at once",
  );
}

function indexOf(object: JsonObject, mediaType: string, where: string): Index {
  const entries = listOf(object, "manifests", where, maxEntries);
  const manifests = entries.map((entry, at) =>
    parseDescriptor(entry, where, `entry ${at + 1} of its index`),
  );
  return { kind: "index", mediaType, manifests };
}

function manifestOf(object: JsonObject, mediaType: string, where: string): Manifest {
  const config = parseDescriptor(member(object, "config"), where, "its config");
  const artifactType = text(object, "artifactType");
  const layers = listOf(object, "layers", where, maxLayers).map((layer, at) =>
    parseDescriptor(layer, where, `layer ${at + 1}`),
  );
  return { kind: "manifest", mediaType, artifactType, config, layers };
}

/** A list, where Go programs write `null` or nothing for an empty one. */
function listOf(object: JsonObject, name: string, where: string, most: number): unknown[] {
  const value = member(object, name) ?? [];
  if (!Array.isArray(value)) throw malformed(where, `\`${name}\` is not a list`);
  if (value.length > most) {
    throw malformed(
      where,
      `\`${name}\` has ${value.length} entries, and ${most} is the most allowed`,
    );
  }
  return value;
}

/**
 * Parses an image config.
 * @param where for messages: `registry.example.com/app:1`
 * @throws LarderError `image`
 */
export function parseConfig(bytes: Buffer, where: string): Config {
  const object = parseObject(bytes);
  if (object === undefined) throw malformed(where, "its config is not a JSON object");
  const rootfs = asObject(member(object, "rootfs"));
  if (rootfs === undefined) throw malformed(where, "its config has no `rootfs`");
  const diffIds = listOf(rootfs, "diff_ids", where, maxLayers).map((id, at) => {
    if (isDigest(id)) return id;
    throw malformed(where, `diff ID ${at + 1} in its config is not a sha256 or sha512 digest`);
  });
  return { platform: parsePlatformObject(object), diffIds };
}

/** The refusal of a chart, an artifact, or whatever else a repository may hold. */
export function notAnImage(where: string, mediaType: string): LarderError {
  return new LarderError("image", {
    what: `cannot use ${where}`,
    why: `it is not a container image but ${mediaType}`,
    todo: "name a repository and tag that hold a container image",
  });
}
