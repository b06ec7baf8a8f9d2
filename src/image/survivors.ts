import { objectionTo, objectionToBoth, type Objection, type Standing } from "./cacheable.ts";
import { decodeName } from "./entry-name.ts";
import type { LayerEntries } from "./layer-entries.ts";
import type { PathTree } from "./path-tree.ts";

/** A file that is left when all layers are laid over each other. */
export interface Survivor {
  /** As `Flattening.add` returned it. */
  readonly id: number;
  /** The base name, under which it is cached. */
  readonly name: string;
  /** In bytes. */
  readonly size: number;
}

/** What an image may hold. */
export interface FlattenLimits {
  readonly files: number;
  /** Sum of the lengths of base names, in bytes. */
  readonly nameBytes: number;
}

/** The file that says what a cache directory holds: Larder's own, never an image's. */
export const sentinelName = ".image-cache-agent.json";

/**
 * The files to cache, sorted by name, or why there is no caching what is left. Of several objections
 * it is always the same one, however the layers were interleaved.
 */
export function survivorsOf(
  entries: LayerEntries,
  limits: FlattenLimits,
): readonly Survivor[] | Objection {
  const { tree } = entries;
  /** Numbers of paths: an object for each would be the largest thing in memory. */
  const files: number[] = [];
  let first: { readonly time: number; readonly objection: Objection } | undefined;
  for (const { at, blocker } of tree.visible()) {
    if (tree.nameOf(at) === sentinelName && blocker === undefined) continue;
    const found = standing(entries, at);
    const { entry } = found;
    const above = blocker === undefined ? undefined : standing(entries, blocker);
    const objection = objectionTo(found, above);
    if (objection !== undefined) {
      if (first === undefined || entry.time < first.time) first = { time: entry.time, objection };
    } else if (entry.kind === "file") files.push(at);
  }
  if (first !== undefined) return first.objection;
  const objection = objectionToNumber(files, tree, limits);
  if (objection !== undefined) return objection;
  files.sort(byNameThenTime(tree));
  return objectionToTwo(files, entries) ?? files.map((at) => survivorAt(at, entries));
}

function objectionToNumber(
  files: readonly number[],
  tree: PathTree,
  limits: FlattenLimits,
): Objection | undefined {
  if (files.length === 0) {
    return {
      why: "it has no file to cache",
      todo: "check that this is the image that was meant; one to cache holds regular files",
    };
  }
  const nameBytes = files.reduce((sum, at) => sum + tree.nameOf(at).length, 0);
  if (files.length > limits.files || nameBytes > limits.nameBytes) {
    return {
      why: `it has ${files.length} files with ${nameBytes} bytes of names, and at most ${limits.files} files and ${limits.nameBytes} bytes can be cached`,
      todo: "split it into several images",
    };
  }
  return undefined;
}

/** @param files sorted by name */
function objectionToTwo(files: readonly number[], entries: LayerEntries): Objection | undefined {
  const { tree } = entries;
  const second = files.findIndex((at, index) => {
    const before = files[index - 1];
    return before !== undefined && tree.nameOf(at) === tree.nameOf(before);
  });
  const [one, other] = [files[second - 1], files[second]];
  if (one === undefined || other === undefined) return undefined;
  return objectionToBoth(standing(entries, one), standing(entries, other));
}

function byNameThenTime(tree: PathTree): (a: number, b: number) => number {
  return (a, b) => {
    const [nameOfA, nameOfB] = [tree.nameOf(a), tree.nameOf(b)];
    if (nameOfA !== nameOfB) return nameOfA < nameOfB ? -1 : 1;
    return tree.timeOf(a) - tree.timeOf(b);
  };
}

function survivorAt(at: number, entries: LayerEntries): Survivor {
  const { id, size } = entries.get(at);
  if (id === undefined) throw new Error(`path ${at} is no file that was written`);
  return { id, name: decodeName(entries.tree.nameOf(at)), size };
}

/** What is at a path, for an objection; the whole path is made when a message asks for it. */
function standing(entries: LayerEntries, at: number): Standing {
  return {
    entry: entries.get(at),
    name: entries.tree.nameOf(at),
    path: () => entries.tree.pathOf(at),
  };
}
