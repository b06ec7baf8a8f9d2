/**
 * What an entry's name says about lower layers (OCI image-spec, layer.md, "Whiteouts"). `path` has
 * the components of what is hidden.
 */
export type Whiteout =
  /** Hides a path and everything below it. */
  | { readonly kind: "path"; readonly path: readonly string[] }
  /** Hides everything below a directory. */
  | { readonly kind: "below"; readonly path: readonly string[] }
  /** Housekeeping of aufs, which other runtimes pass over. */
  | { readonly kind: "metadata" }
  /** Cannot be meant by an honest image; `why` follows the entry's name in a message. */
  | { readonly kind: "invalid"; readonly why: string };

const prefix = ".wh.";
const opaque = ".wh..wh.opq";
const metadataPrefix = ".wh..wh.";

/** Reads the components of an entry's path; undefined when it is an entry like any other. */
export function whiteoutOf(components: readonly string[]): Whiteout | undefined {
  const first = components.findIndex((component) => component.startsWith(prefix));
  const marker = components[first];
  if (marker === undefined) return undefined;
  // Also what is below it: aufs kept files there that others were hard links to.
  if (marker.startsWith(metadataPrefix) && marker !== opaque) return { kind: "metadata" };
  if (first < components.length - 1) return { kind: "invalid", why: "lies below a whiteout" };
  const directory = components.slice(0, first);
  if (marker === opaque) return { kind: "below", path: directory };
  const hidden = marker.slice(prefix.length);
  if (hidden === "" || hidden === "." || hidden === "..") {
    return { kind: "invalid", why: "is a whiteout that names no file" };
  }
  return { kind: "path", path: [...directory, hidden] };
}
