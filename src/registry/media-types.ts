/** The media types of the OCI image spec and of Docker's registry, sorted by what they are. */

export const ociIndex = "application/vnd.oci.image.index.v1+json";
export const ociManifest = "application/vnd.oci.image.manifest.v1+json";
const dockerList = "application/vnd.docker.distribution.manifest.list.v2+json";
export const dockerManifest = "application/vnd.docker.distribution.manifest.v2+json";

/** What an image is asked for as; the order has no meaning to registries. */
export const acceptedManifests: readonly string[] = [
  ociIndex,
  ociManifest,
  dockerList,
  dockerManifest,
];

const schema1 = new Set([
  "application/vnd.docker.distribution.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v1+prettyjws",
]);

const imageConfigs = new Set([
  "application/vnd.oci.image.config.v1+json",
  "application/vnd.docker.container.image.v1+json",
]);

const layers = new Set([
  "application/vnd.oci.image.layer.v1.tar",
  "application/vnd.oci.image.layer.v1.tar+gzip",
  "application/vnd.oci.image.layer.v1.tar+zstd",
  "application/vnd.docker.image.rootfs.diff.tar",
  "application/vnd.docker.image.rootfs.diff.tar.gzip",
  "application/vnd.docker.image.rootfs.diff.tar.zstd",
]);

// Content-Types of servers that do not know what they serve; they say nothing about it.
const generic = new Set(["", "application/json", "application/octet-stream", "text/plain"]);

/** The type without parameters, lower case; empty where a server names none or a generic one. */
export function essence(contentType: string | undefined): string {
  const type = (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return generic.has(type) ? "" : type;
}

export function isIndex(mediaType: string): boolean {
  return mediaType === ociIndex || mediaType === dockerList;
}

export function isManifest(mediaType: string): boolean {
  return mediaType === ociManifest || mediaType === dockerManifest;
}

export function isSchema1(mediaType: string): boolean {
  return schema1.has(mediaType);
}

export function isImageConfig(mediaType: string): boolean {
  return imageConfigs.has(mediaType);
}

export function isLayer(mediaType: string): boolean {
  return layers.has(mediaType);
}

/** Layers whose publisher keeps them elsewhere, mostly Windows base layers. */
export function isForeignLayer(mediaType: string): boolean {
  return mediaType.includes(".nondistributable.") || mediaType.includes(".rootfs.foreign.");
}

export function isWebPage(contentType: string | undefined): boolean {
  const type = essence(contentType);
  return type === "text/html" || type === "application/xhtml+xml";
}
