import type { LayerEntry } from "./cacheable.ts";
import { Numbers } from "./numbers.ts";
import { PathTree } from "./path-tree.ts";
import type { EntryKind, TarEntry } from "./tar-entry.ts";

/** More than a layer can have entries; times of 100,000 layers are still exact numbers. */
const timesPerLayer = 2 ** 36;

const noId = -1;

interface Type {
  readonly kind: EntryKind;
  readonly typeflag: string;
}

const regularFile: Type = { kind: "file", typeflag: "0" };

/** The entries of all layers by their paths; of two at one path, what the newer one is. */
export class LayerEntries {
  readonly tree = new PathTree();
  readonly #sizes = new Numbers();
  readonly #ids = new Numbers();
  /** Of all that is no regular file, by the number of the path. */
  readonly #types = new Map<number, Type>();

  /** @param id of the file whose content is being written; undefined for everything else */
  place(
    components: readonly string[],
    time: number,
    { kind, typeflag, size }: TarEntry,
    id: number | undefined,
  ): void {
    const at = this.tree.place(components, time, kind === "directory");
    this.#reach(this.tree.paths);
    if (at === undefined) return;
    this.#sizes.set(at, size);
    this.#ids.set(at, id ?? noId);
    if (kind === "file") this.#types.delete(at);
    else this.#types.set(at, { kind, typeflag });
  }

  /** What stands at a path, by its number. */
  get(at: number): LayerEntry {
    const time = this.tree.timeOf(at);
    const id = this.#ids.get(at);
    return {
      time,
      layer: Math.floor(time / timesPerLayer),
      ...(this.#types.get(at) ?? regularFile),
      size: this.#sizes.get(at),
      id: id === noId ? undefined : id,
    };
  }

  /** Makes room for the paths up to a number. */
  #reach(last: number): void {
    while (this.#ids.length <= last) {
      this.#sizes.push(0);
      this.#ids.push(noId);
    }
  }
}

/** When an entry of a layer came; 0 is the layer's first, and older than it are lower layers. */
export function timeIn(layer: number, count: number): number {
  return layer * timesPerLayer + count;
}
