/** How layers are laid over each other, slowly and obviously: one after another, into one map. */
import type { EntryKind } from "../../src/image/tar-entry.ts";

/** An entry as the model needs it: a normalised path and what it is. */
export interface ModelEntry {
  readonly path: string;
  readonly kind: EntryKind;
}

/** Path to what stands there and where that came from, as `<layer>.<index in the layer>`. */
type Tree = Map<string, { readonly kind: EntryKind; readonly origin: string }>;

function isBelow(path: string, directory: string): boolean {
  return directory === "" || path.startsWith(`${directory}/`);
}

function removeBelow(tree: Tree, directory: string): void {
  for (const path of tree.keys()) if (isBelow(path, directory)) tree.delete(path);
}

function split(path: string): { directory: string; name: string } {
  const slash = path.lastIndexOf("/");
  return { directory: path.slice(0, Math.max(slash, 0)), name: path.slice(slash + 1) };
}

function applyWhiteouts(tree: Tree, layer: readonly ModelEntry[]): void {
  for (const { path } of layer) {
    const { directory, name } = split(path);
    if (name === ".wh..wh.opq") removeBelow(tree, directory);
    else if (name.startsWith(".wh.")) {
      const hidden = [directory, name.slice(".wh.".length)].filter((part) => part !== "").join("/");
      tree.delete(hidden);
      removeBelow(tree, hidden);
    }
  }
}

/** The files that are left as origins by path; undefined when the image has to be refused. */
export function layersLaidOver(
  layers: readonly (readonly ModelEntry[])[],
): Map<string, string> | undefined {
  const tree: Tree = new Map();
  for (const [layerIndex, layer] of layers.entries()) {
    applyWhiteouts(tree, layer);
    for (const [index, { path, kind }] of layer.entries()) {
      if (split(path).name.startsWith(".wh.")) continue;
      if (kind !== "directory") removeBelow(tree, path);
      tree.set(path, { kind, origin: `${layerIndex}.${index}` });
    }
  }
  return isCacheable(tree) ? filesOf(tree) : undefined;
}

function filesOf(tree: Tree): Map<string, string> {
  const files = [...tree].filter(([, { kind }]) => kind === "file");
  return new Map(files.map(([path, { origin }]) => [path, origin]));
}

function isCacheable(tree: Tree): boolean {
  const paths = [...tree.keys()];
  const names = [...filesOf(tree).keys()].map((path) => split(path).name);
  return (
    names.length > 0 &&
    new Set(names).size === names.length &&
    [...tree.values()].every(({ kind }) => kind === "file" || kind === "directory") &&
    [...tree].every(
      ([path, { kind }]) => kind === "directory" || !paths.some((other) => isBelow(other, path)),
    )
  );
}
