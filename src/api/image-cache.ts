// Generated from deploy/crds/imagecache.yaml by `make generate`: change that file, not this one.

/** Where an API server has them. */
export const imageCaches = {
  group: "image-cache.scality.com",
  version: "v1alpha1",
  plural: "imagecaches",
  kind: "ImageCache",
  namespaced: false,
} as const;

/** Before the names of labels that are about them. */
export const labelPrefix = "image-cache.scality.com/";

/** Of metadata.name, in characters. */
export const longestName = 63;

/** Of source, in characters. */
export const longestSource = 512;

/** Of an object that has no cachePath. */
export const defaultCachePath = "/var/lib/image-cache";

/** Of cachePath, in characters. */
export const longestCachePath = 1024;

/** What to keep, where, and on which nodes. */
export interface ImageCacheSpec {
  /**
   * The image: [registry[:port]/]repository[:tag][@sha256:<64 hex>]. Without a registry it is one
   * of Docker Hub, without tag and digest the tag latest. Where both are there, the digest
   * decides.
   */
  readonly source: string;
  /**
   * The directory on the node below which the files are kept, in one named after this object. The
   * agent has to have it mounted at the same path.
   */
  readonly cachePath?: string;
  /**
   * Labels that a node must have, each with exactly this value. Empty or absent, it selects every
   * node.
   */
  readonly nodeSelector?: Readonly<Record<string, string>>;
}

/**
 * An image whose files every selected node keeps on its disk. The label
 * image-cache.scality.com/<name> of each node says whether they are there: synced or pending.
 */
export interface ImageCache {
  readonly apiVersion: "image-cache.scality.com/v1alpha1";
  readonly kind: "ImageCache";
  readonly metadata: { readonly name: string; readonly [member: string]: unknown };
  readonly spec: ImageCacheSpec;
}
