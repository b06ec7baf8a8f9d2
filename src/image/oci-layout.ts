import { LarderError } from "../errors.ts";
import { digestOf, DigestCheck, type Digest } from "../registry/digest.ts";
import type { Content, Descriptor, Image } from "../registry/image.ts";
import { parseObject, text } from "../registry/json.ts";
import { parseManifest } from "../registry/manifest.ts";
import { ociIndex } from "../registry/media-types.ts";
import { formatPlatform, type Platform } from "../registry/platform.ts";
import { resolveImage } from "../registry/resolve.ts";
import { documentLimit, type NamedFiles } from "./named-files.ts";
import { chooseRoot } from "./oci-roots.ts";

/** A blob that the layout names and does not hold, as when it was saved for another platform. */
export class MissingBlobError extends LarderError {}

/**
 * The one image of an OCI layout, its blobs all there and of the declared sizes. Reads no layer.
 *
 * @throws LarderError `image`, `platform` or `digest`; `MissingBlobError` where it is incomplete
 */
export async function layoutImage(
  files: NamedFiles,
  want: Platform,
  signal: AbortSignal,
): Promise<Image> {
  const { where } = files;
  refuseVersion(await files.readSmall("oci-layout", documentLimit, signal), where);
  const bytes = await files.readSmall("index.json", documentLimit, signal);
  const index = parseManifest(bytes, `index.json of ${where}`, ociIndex);
  const content = new LayoutContent(files, want);
  const choice = chooseRoot(index.kind === "index" ? index.manifests : [], where);
  const image =
    choice.kind === "one"
      ? await resolveOne(content, choice.descriptor, want, signal)
      : await resolveAmong(content, bytes, want, signal);
  for (const layer of image.layers) {
    const { digest, name } = layer;
    if (digest !== undefined) await content.check({ ...layer, digest }, signal, name);
  }
  return image;
}

async function resolveOne(
  content: Content,
  descriptor: Descriptor,
  want: Platform,
  signal: AbortSignal,
): Promise<Image> {
  const bytes = await content.read(descriptor, signal);
  return resolveImage(content, { descriptor, bytes }, want, signal);
}

/** `index.json` in place of an index. It names no image outside this layout, so the manifest does. */
async function resolveAmong(
  content: Content,
  bytes: Buffer,
  want: Platform,
  signal: AbortSignal,
): Promise<Image> {
  const descriptor = { mediaType: ociIndex, digest: digestOf(bytes), size: bytes.length };
  const image = await resolveImage(content, { descriptor, bytes }, want, signal);
  return { ...image, resolved: image.digest };
}

/** Blobs by digest, each in a file that is named after it. */
class LayoutContent implements Content {
  readonly where: string;
  readonly #files: NamedFiles;
  readonly #want: Platform;

  constructor(files: NamedFiles, want: Platform) {
    this.where = files.where;
    this.#files = files;
    this.#want = want;
  }

  async read(descriptor: Descriptor, signal: AbortSignal): Promise<Buffer> {
    await this.check(descriptor, signal);
    const bytes = await this.#files.readSmall(blobPath(descriptor.digest), documentLimit, signal);
    const check = new DigestCheck(descriptor.digest, `${descriptor.digest} of ${this.where}`);
    check.update(bytes);
    check.verify();
    return bytes;
  }

  async *open(descriptor: Descriptor, name: string, signal: AbortSignal): AsyncGenerator<Buffer> {
    // In a directory a blob can have been replaced since it was first looked at.
    await this.check(descriptor, signal, name);
    yield* this.#files.open(blobPath(descriptor.digest), signal);
  }

  /** @throws LarderError where the blob is missing or has another size than declared */
  async check(
    blob: Pick<Descriptor, "digest" | "mediaType" | "size">,
    signal: AbortSignal,
    name = `${blob.digest} of ${this.where}`,
  ): Promise<void> {
    const size = await this.#files.size(blobPath(blob.digest), signal);
    if (size === undefined) throw this.#missing(blob);
    if (size === blob.size) return;
    throw new LarderError("digest", {
      what: `${name} is not what it claims to be`,
      why: `expected ${blob.size} bytes but it has ${size}`,
      todo: "it was damaged or cut short on its way: copy it again, or save the image again",
    });
  }

  #missing({ digest, mediaType }: Pick<Descriptor, "digest" | "mediaType">): MissingBlobError {
    const platform = formatPlatform(this.#want);
    return new MissingBlobError("image", {
      what: `cannot use ${this.where} for ${platform}`,
      why: `it lists ${digest} (${mediaType}) but does not hold it, as when it was saved for another platform or in part`,
      todo: `pull the image for ${platform} and save it again`,
    });
  }
}

/** The digest was parsed, so this is a name below `blobs/` and nothing else. */
function blobPath(digest: Digest): string {
  return `blobs/${digest.replace(":", "/")}`;
}

function refuseVersion(bytes: Buffer, where: string): void {
  const object = parseObject(bytes);
  const version = object === undefined ? undefined : text(object, "imageLayoutVersion");
  if (version !== undefined && /^1\.\d+\.\d+$/.test(version)) return;
  throw new LarderError("image", {
    what: `cannot use ${where}`,
    why:
      version === undefined
        ? "its oci-layout file names no version"
        : `it is an OCI layout of version ${version.slice(0, 40)}, and Larder reads version 1`,
    todo: "save the image again with a current tool",
  });
}
