import { LarderError } from "../errors.ts";
import { isAttestation } from "../registry/choose.ts";
import type { Descriptor } from "../registry/image.ts";
import { isManifest } from "../registry/media-types.ts";
import { formatPlatform } from "../registry/platform.ts";

/** What the `index.json` of a layout comes to. */
export type LayoutChoice =
  /** One image, or one index, perhaps under several tags. */
  | { readonly kind: "one"; readonly descriptor: Descriptor }
  /** The platforms of one image, listed there without an index of their own. */
  | { readonly kind: "platforms" };

/** Tags by which tools name an image in `index.json`; containerd's is the full one. */
const nameAnnotations = ["io.containerd.image.name", "org.opencontainers.image.ref.name"] as const;

interface Root {
  readonly descriptor: Descriptor;
  readonly names: Set<string>;
}

/**
 * Decides which image a layout holds. Pure.
 *
 * @throws LarderError `image` where it holds none or more than one, naming them
 */
export function chooseRoot(manifests: readonly Descriptor[], where: string): LayoutChoice {
  const roots = rootsOf(manifests.filter((entry) => !isAttestation(entry)));
  const [first, ...others] = roots;
  if (first === undefined) throw noImage(where);
  if (others.length === 0) return { kind: "one", descriptor: first.descriptor };
  if (differOnlyInPlatform(roots)) return { kind: "platforms" };
  throw severalImages(where, roots.map(nameOf));
}

/** @param names how the archive calls its images */
export function severalImages(where: string, names: readonly string[]): LarderError {
  const shown = names.slice(0, 10).join(", ");
  const rest = names.length > 10 ? ` and ${names.length - 10} more` : "";
  return new LarderError("image", {
    what: `cannot use ${where}`,
    why: `it holds ${names.length} images (${shown}${rest}), and a cache is filled from one`,
    todo: "save the wanted image alone (docker save -o <file> <image>)",
  });
}

/** One root a digest, with all the names that it has. */
function rootsOf(manifests: readonly Descriptor[]): Root[] {
  const roots = new Map<string, Root>();
  for (const descriptor of manifests) {
    const root = roots.get(descriptor.digest) ?? { descriptor, names: new Set() };
    for (const annotation of nameAnnotations) {
      const name = descriptor.annotations?.[annotation];
      if (name !== undefined) root.names.add(name);
    }
    roots.set(descriptor.digest, root);
  }
  return [...roots.values()];
}

/** Each a manifest of a platform of its own, and all under the same names, or all under none. */
function differOnlyInPlatform(roots: readonly Root[]): boolean {
  const platforms = new Set<string>();
  const names = new Set<string>();
  for (const { descriptor, names: own } of roots) {
    if (!isManifest(descriptor.mediaType) || descriptor.platform === undefined) return false;
    platforms.add(formatPlatform(descriptor.platform));
    names.add([...own].sort().join("\n"));
  }
  return platforms.size === roots.length && names.size === 1;
}

function nameOf({ descriptor, names }: Root): string {
  const name = [...names][0] ?? descriptor.digest;
  return descriptor.platform === undefined
    ? name
    : `${name} for ${formatPlatform(descriptor.platform)}`;
}

function noImage(where: string): LarderError {
  return new LarderError("image", {
    what: `cannot use ${where}`,
    why: "its index.json lists no image",
    todo: "save the image again; the tool that wrote this left it empty",
  });
}
