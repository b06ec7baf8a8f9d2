import type { BuiltImage, BuiltLayer } from "../../testbed/image-builder.ts";

/** The image with other bytes in one layer, all digests as they were. */
export function tampered(
  image: BuiltImage,
  at: number,
  change: (bytes: Buffer) => Buffer,
): BuiltImage {
  const layers = image.layers.map((layer, index): BuiltLayer =>
    index === at ? { ...layer, blob: change(layer.blob), tar: change(layer.tar) } : layer,
  );
  const blobs = new Map(image.blobs);
  for (const { digest, blob } of layers) blobs.set(digest, blob);
  return { ...image, layers, blobs };
}

/** One bit changed, past the first header of a tar. */
export const flipped = (bytes: Buffer): Buffer => {
  const copy = Buffer.from(bytes);
  copy[600] = (copy[600] ?? 0) ^ 1;
  return copy;
};
