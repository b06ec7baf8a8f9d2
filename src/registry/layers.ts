import { LarderError } from "../errors.ts";
import { malformed } from "./descriptor.ts";
import type { Content, Descriptor, Layer } from "./image.ts";
import type { Config, Manifest } from "./manifest.ts";
import { isForeignLayer, isLayer } from "./media-types.ts";

/**
 * The layers of an image, each with the diff ID that its config promises.
 * @throws LarderError `image` for layers that are kept elsewhere, of an unknown kind, or that the
 * config does not account for
 */
export function imageLayers(content: Content, manifest: Manifest, config: Config): Layer[] {
  const { layers } = manifest;
  // Before the count: who has a foreign layer shall read of that.
  for (const [at, layer] of layers.entries()) refuseUnusable(content.where, layer, at);
  // The config's history may list steps without a layer, but its diff IDs are of layers alone.
  if (layers.length !== config.diffIds.length) {
    throw malformed(
      content.where,
      `its manifest has ${layers.length} layers, but its config ${config.diffIds.length} diff IDs`,
    );
  }
  return layers.flatMap((descriptor, at) => {
    const diffId = config.diffIds[at];
    if (diffId === undefined) return [];
    const name = `layer ${at + 1} of ${layers.length} of ${content.where}`;
    const { mediaType, digest, size } = descriptor;
    const open = (signal: AbortSignal) => content.open(descriptor, name, signal);
    return [{ name, mediaType, digest, size, diffId, open }];
  });
}

function refuseUnusable(where: string, { mediaType }: Descriptor, at: number): void {
  const what = `cannot use ${where}`;
  if (isForeignLayer(mediaType)) {
    throw new LarderError("image", {
      what,
      why: `its layer ${at + 1} is ${mediaType}, which its publisher allows nobody to redistribute, so that it need not be in this registry`,
      todo: "build the image on a base without such layers, or push it with them included",
    });
  }
  if (isLayer(mediaType)) return;
  throw new LarderError("image", {
    what,
    why: `its layer ${at + 1} is ${mediaType}, which is not a layer of files that Larder can unpack`,
    todo: "push the image with plain, gzip or zstd layers, unencrypted",
  });
}
