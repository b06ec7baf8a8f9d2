import { candidates, isAttestation, noPlatform, otherPlatform } from "./choose.ts";
import { malformed } from "./descriptor.ts";
import type { Content, Descriptor, Image, Layer } from "./image.ts";
import { imageLayers } from "./layers.ts";
import { notAnImage, parseConfig, parseManifest } from "./manifest.ts";
import type { Index, Manifest } from "./manifest.ts";
import { isImageConfig, isIndex } from "./media-types.ts";
import { formatPlatform, platformMatches } from "./platform.ts";
import type { Platform } from "./platform.ts";

/** What a reference, or an OCI layout's entry, points at; `bytes` are already checked. */
export interface Root {
  readonly descriptor: Descriptor;
  readonly bytes: Buffer;
}

/** An index in an index is rare, one in that unheard of. A digest cannot be in a cycle of its own. */
const maxDepth = 4;
/** Indexes read in one resolution, so that a wide tree of them ends. */
const maxIndexes = 64;

/** One resolution: what is asked of where, and what has been seen on the way. */
interface Search {
  readonly content: Content;
  readonly want: Platform;
  readonly signal: AbortSignal;
  /** What there is, for the refusal when nothing fits. */
  readonly seen: string[];
  indexesRead: number;
}

/**
 * Goes from what a reference names to the image for one platform: through indexes, to the manifest,
 * to its config. Reads no layer.
 * @throws LarderError `platform` when nothing fits, `image` when it is no image that can be used
 */
export async function resolveImage(
  content: Content,
  root: Root,
  want: Platform,
  signal: AbortSignal,
): Promise<Image> {
  const search: Search = { content, want, signal, seen: [], indexesRead: 0 };
  const resolved = root.descriptor.digest;
  const parsed = parseManifest(root.bytes, content.where, root.descriptor.mediaType);
  if (parsed.kind === "manifest") {
    const { platform, layers } = await readImage(search, parsed);
    if (platform && !platformMatches(want, platform)) {
      throw otherPlatform(content.where, want, platform);
    }
    return { name: content.where, digest: resolved, resolved, platform, layers };
  }
  const leaves = await leavesOf(search, parsed, 1);
  for (const leaf of candidates(leaves, want)) {
    const image = await readLeaf(search, leaf);
    if (image !== undefined)
      return { ...image, name: content.where, digest: leaf.digest, resolved };
  }
  throw noPlatform(content.where, want, [...search.seen, ...leaves.flatMap(described)]);
}

/** The manifests that an index lists, those of nested indexes included. */
async function leavesOf(search: Search, index: Index, depth: number): Promise<Descriptor[]> {
  const leaves: Descriptor[] = [];
  for (const entry of index.manifests.filter((each) => !isAttestation(each))) {
    if (!isIndex(entry.mediaType)) leaves.push(entry);
    else if (entry.platform && !platformMatches(search.want, entry.platform)) {
      search.seen.push(formatPlatform(entry.platform));
    } else
      leaves.push(...(await leavesOf(search, await readIndex(search, entry, depth), depth + 1)));
  }
  return leaves;
}

async function readIndex(search: Search, entry: Descriptor, depth: number): Promise<Index> {
  const { content } = search;
  if (depth >= maxDepth)
    throw malformed(content.where, `it nests indexes more than ${maxDepth} deep`);
  if (++search.indexesRead > maxIndexes) {
    throw malformed(content.where, `it has more than ${maxIndexes} nested indexes`);
  }
  const bytes = await content.read(entry, search.signal);
  const parsed = parseManifest(bytes, content.where, entry.mediaType);
  if (parsed.kind === "index") return parsed;
  throw malformed(content.where, `${entry.digest} is listed as an index but is none`);
}

/** The image of one index entry; undefined when the entry named no platform and its config another. */
async function readLeaf(
  search: Search,
  leaf: Descriptor,
): Promise<Pick<Image, "platform" | "layers"> | undefined> {
  const { content, want } = search;
  const bytes = await content.read(leaf, search.signal);
  const parsed = parseManifest(bytes, content.where, leaf.mediaType);
  if (parsed.kind === "index") {
    throw malformed(content.where, `${leaf.digest} is listed as a manifest but is an index`);
  }
  if (leaf.platform === undefined && !isImageConfig(parsed.config.mediaType)) return undefined;
  const image = await readImage(search, parsed);
  if (image.platform === undefined || platformMatches(want, image.platform)) return image;
  if (leaf.platform !== undefined) throw otherPlatform(content.where, want, image.platform);
  search.seen.push(formatPlatform(image.platform));
  return undefined;
}

async function readImage(
  search: Search,
  manifest: Manifest,
): Promise<{ platform: Platform | undefined; layers: readonly Layer[] }> {
  const { content } = search;
  refuseArtifact(manifest, content.where);
  const bytes = await content.read(manifest.config, search.signal);
  const config = parseConfig(bytes, content.where);
  return { platform: config.platform, layers: imageLayers(content, manifest, config) };
}

function refuseArtifact({ artifactType, config }: Manifest, where: string): void {
  if (!isImageConfig(config.mediaType)) throw notAnImage(where, artifactType ?? config.mediaType);
  if (artifactType !== undefined && !isImageConfig(artifactType)) {
    throw notAnImage(where, artifactType);
  }
}

function described({ platform, mediaType, artifactType }: Descriptor): string[] {
  if (platform) return [formatPlatform(platform)];
  return [artifactType ?? mediaType];
}
