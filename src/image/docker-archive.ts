import { LarderError } from "../errors.ts";
import { otherPlatform } from "../registry/choose.ts";
import { DigestCheck, digestOf, isDigest, type Digest } from "../registry/digest.ts";
import type { Image, Layer } from "../registry/image.ts";
import { parseConfig, type Config } from "../registry/manifest.ts";
import { platformMatches, type Platform } from "../registry/platform.ts";
import { parseSavedImages, type SavedImage } from "./docker-manifest.ts";
import { documentLimit, type NamedFiles } from "./named-files.ts";
import { severalImages } from "./oci-roots.ts";

/** Docker's type for a plain tar. It says nothing certain: content decides how a layer is compressed. */
const layerMediaType = "application/vnd.docker.image.rootfs.diff.tar";

/**
 * The one image of what `docker save` writes. There is no manifest in the sense of a registry: the
 * config's digest stands for the image, and layers are checked by their diff IDs.
 *
 * @throws LarderError `image`, `platform` or `digest`
 */
export async function dockerImage(
  files: NamedFiles,
  want: Platform,
  signal: AbortSignal,
): Promise<Image> {
  const { where } = files;
  const bytes = await files.readSmall("manifest.json", documentLimit, signal);
  const saved = onlyImage(parseSavedImages(bytes, where), where);
  const configBytes = await files.readSmall(saved.config, documentLimit, signal);
  const digest = checkedDigest(saved.config, configBytes, where);
  const config = parseConfig(configBytes, where);
  const { platform } = config;
  if (platform && !platformMatches(want, platform)) throw otherPlatform(where, want, platform);
  const layers = await layersOf(files, saved, config, signal);
  return { name: where, digest, resolved: digest, platform, layers };
}

/** The same image may be listed again, once for each of its tags. */
function onlyImage(images: readonly SavedImage[], where: string): SavedImage {
  const distinct = new Map(
    images.map((image) => [JSON.stringify([image.config, image.layers]), image]),
  );
  const [only, ...others] = distinct.values();
  if (only === undefined) throw damaged(where, "its manifest.json lists no image");
  if (others.length === 0) return only;
  throw severalImages(
    where,
    [...distinct.values()].map(({ tags, config }) => tags[0] ?? config),
  );
}

// `<hex>.json` up to Docker 24, `blobs/sha256/<hex>` since, `sha256:<hex>` by other tools.
const configName = /^(?:blobs\/(?:sha256|sha512)\/|sha256:)?(?<hex>[0-9a-f]+)(?:\.json)?$/;

/** The config's digest; where its name is one, it must be that. */
function checkedDigest(name: string, bytes: Buffer, where: string): Digest {
  const hex = configName.exec(name)?.groups?.["hex"] ?? "";
  const claimed = hex.length === 128 ? `sha512:${hex}` : `sha256:${hex}`;
  if (!isDigest(claimed)) return digestOf(bytes);
  const check = new DigestCheck(claimed, `the config ${name} of ${where}`);
  check.update(bytes);
  check.verify();
  return claimed;
}

async function layersOf(
  files: NamedFiles,
  saved: SavedImage,
  { diffIds }: Config,
  signal: AbortSignal,
): Promise<Layer[]> {
  const { where } = files;
  const count = saved.layers.length;
  if (count !== diffIds.length) {
    throw damaged(where, `it has ${count} layers, but its config ${diffIds.length} diff IDs`);
  }
  const layers: Layer[] = [];
  for (const [at, diffId] of diffIds.entries()) {
    const path = saved.layers[at] ?? "";
    const name = `layer ${at + 1} of ${count} of ${where}`;
    const size = await files.size(path, signal);
    if (size === undefined) throw damaged(where, `it does not hold its layer ${at + 1} (${path})`);
    const open = (opened: AbortSignal) => files.open(path, opened);
    layers.push({ name, mediaType: layerMediaType, digest: undefined, size, diffId, open });
  }
  return layers;
}

function damaged(where: string, why: string): LarderError {
  return new LarderError("image", {
    what: `cannot use ${where}`,
    why,
    todo: "the archive is incomplete or was changed: save the image again",
  });
}
