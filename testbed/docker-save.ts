/** Writes built images as `docker save` does: the style up to Docker 24, and the one since. */
import { digestOf } from "../src/registry/digest.ts";
import type { BuiltImage } from "./built-image.ts";
import { blobPath, ociLayoutFiles, tarEntries } from "./oci-layout-writer.ts";
import { tarOf, type TarSpec } from "./tar-writer.ts";

export interface DockerArchiveImage {
  readonly image: BuiltImage;
  /** As in `RepoTags`: `app:1`, `registry.example.com/app:1`. May be empty. */
  readonly tags: readonly string[];
}

export interface DockerArchiveOptions {
  /** Up to Docker 24: `<id>/layer.tar` and `<config>.json`. Default: OCI layout plus `manifest.json`. */
  readonly legacy?: boolean;
  /** With `legacy`: a layer that was written before becomes a link to it, as Docker does. */
  readonly linkedLayers?: boolean | "symlink" | "hardlink";
  /** With `legacy`: layers as stored (`<digest>.tar.gz`), as other tools than Docker write them. */
  readonly storedLayers?: boolean;
}

interface SavedImage {
  readonly Config: string;
  readonly RepoTags: readonly string[] | null;
  readonly Layers: readonly string[];
}

/** The archive that `docker save` would write of `images`. */
export function dockerArchive(
  images: readonly DockerArchiveImage[],
  options: DockerArchiveOptions = {},
): Buffer {
  return tarOf(options.legacy === true ? legacyEntries(images, options) : currentEntries(images));
}

/** Since Docker 25: an OCI layout, with a `manifest.json` that points into its blobs. */
function currentEntries(images: readonly DockerArchiveImage[]): TarSpec[] {
  const roots = images.flatMap(({ image, tags }) =>
    tags.length === 0
      ? [{ image }]
      : tags.map((name) => ({ image, name, tag: name.slice(name.lastIndexOf(":") + 1) })),
  );
  const files = ociLayoutFiles(roots);
  files.set(
    "manifest.json",
    savedImages(
      images.map(({ image, tags }) => ({
        Config: blobPath(image.configDigest),
        RepoTags: tags,
        Layers: image.layers.map((layer) => blobPath(layer.digest)),
      })),
    ),
  );
  return tarEntries(files);
}

/** Up to Docker 24: a folder a layer, named after the chain below it. */
function legacyEntries(
  images: readonly DockerArchiveImage[],
  options: DockerArchiveOptions,
): TarSpec[] {
  const files = new Map<string, Buffer>();
  const links: TarSpec[] = [];
  const written = new Map<string, string>();
  const saved = images.map(({ image, tags }): SavedImage => {
    const config = `${hexOf(image.configDigest)}.json`;
    files.set(config, image.config);
    let id = "";
    const layers = image.layers.map((layer) => {
      if (options.storedLayers === true) {
        const path = `${hexOf(layer.digest)}.tar.gz`;
        files.set(path, layer.blob);
        return path;
      }
      id = hexOf(digestOf(Buffer.from(`${id} ${layer.diffId}`)));
      const path = `${id}/layer.tar`;
      files.set(`${id}/VERSION`, Buffer.from("1.0"));
      files.set(`${id}/json`, Buffer.from(JSON.stringify({ id })));
      const earlier = written.get(layer.diffId);
      if (Boolean(options.linkedLayers) && earlier !== undefined && earlier !== path) {
        links.push(linkTo(path, earlier, options.linkedLayers === "hardlink"));
      } else {
        files.set(path, layer.tar);
        written.set(layer.diffId, path);
      }
      return path;
    });
    return { Config: config, RepoTags: tags.length === 0 ? null : tags, Layers: layers };
  });
  files.set("manifest.json", savedImages(saved));
  files.set("repositories", repositoriesOf(images));
  // Docker sorts by name, so a symbolic link may come before what it points at; a hard link cannot.
  return options.linkedLayers === "hardlink"
    ? [...tarEntries(files), ...links]
    : [...links, ...tarEntries(files)];
}

function linkTo(path: string, target: string, hard: boolean): TarSpec {
  return hard
    ? { path, type: "hardlink", linkName: target }
    : { path, type: "symlink", linkName: `../${target}` };
}

function repositoriesOf(images: readonly DockerArchiveImage[]): Buffer {
  const repositories: Record<string, Record<string, string>> = {};
  for (const { image, tags } of images) {
    for (const tag of tags) {
      const colon = tag.lastIndexOf(":");
      const name = tag.slice(0, colon);
      repositories[name] = {
        ...repositories[name],
        [tag.slice(colon + 1)]: hexOf(image.configDigest),
      };
    }
  }
  return Buffer.from(JSON.stringify(repositories));
}

function savedImages(images: readonly SavedImage[]): Buffer {
  return Buffer.from(JSON.stringify(images));
}

function hexOf(digest: string): string {
  return digest.slice(digest.indexOf(":") + 1);
}
