import { objectionTo, objectionToBoth, type LayerEntry, type Objection } from "./cacheable.ts";
import { decodeName } from "./entry-name.ts";
import type { Visible } from "./path-tree.ts";

/** A file that is left when all layers are laid over each other. */
export interface Survivor {
  /** As `Flattening.add` returned it. */
  readonly id: number;
  /** The base name, under which it is cached. */
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  /** Where it is in the image, normalised, as text; for messages. */
  readonly path: string;
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
  entries: Iterable<Visible<LayerEntry>>,
  limits: FlattenLimits,
): readonly Survivor[] | Objection {
  const files: Visible<LayerEntry>[] = [];
  let first: { readonly time: number; readonly objection: Objection } | undefined;
  for (const visible of entries) {
    const { entry, name, blocker } = visible;
    if (name === sentinelName && blocker === undefined) continue;
    const objection = objectionTo(visible);
    if (objection !== undefined) {
      if (first === undefined || entry.time < first.time) first = { time: entry.time, objection };
    } else if (entry.kind === "file") files.push(visible);
  }
  if (first !== undefined) return first.objection;
  const objection = objectionToNumber(files, limits);
  if (objection !== undefined) return objection;
  files.sort(byNameThenTime);
  return objectionToTwo(files) ?? files.flatMap(survivorOf);
}

function objectionToNumber(
  files: readonly Visible<LayerEntry>[],
  limits: FlattenLimits,
): Objection | undefined {
  if (files.length === 0) {
    return {
      why: "it has no file to cache",
      todo: "check that this is the image that was meant; one to cache holds regular files",
    };
  }
  const nameBytes = files.reduce((sum, file) => sum + file.name.length, 0);
  if (files.length > limits.files || nameBytes > limits.nameBytes) {
    return {
      why: `it has ${files.length} files with ${nameBytes} bytes of names, and at most ${limits.files} files and ${limits.nameBytes} bytes can be cached`,
      todo: "split it into several images",
    };
  }
  return undefined;
}

/** @param files sorted by name */
function objectionToTwo(files: readonly Visible<LayerEntry>[]): Objection | undefined {
  const second = files.findIndex((file, index) => file.name === files[index - 1]?.name);
  const [one, other] = [files[second - 1], files[second]];
  return one === undefined || other === undefined ? undefined : objectionToBoth(one, other);
}

function byNameThenTime(a: Visible<LayerEntry>, b: Visible<LayerEntry>): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.entry.time - b.entry.time;
}

function survivorOf({ entry, name, path }: Visible<LayerEntry>): Survivor[] {
  if (entry.id === undefined) return [];
  return [{ id: entry.id, name: decodeName(name), size: entry.size, path }];
}
