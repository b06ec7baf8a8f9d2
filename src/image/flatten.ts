import { LarderError } from "../errors.ts";
import { describeKind, type Objection } from "./cacheable.ts";
import { decodeName, hasFileName, nameFault, pathComponents, quotePath } from "./entry-name.ts";
import { LayerEntries, timeIn } from "./layer-entries.ts";
import { sentinelName, survivorsOf, type FlattenLimits, type Survivor } from "./survivors.ts";
import type { TarEntry } from "./tar-entry.ts";
import { whiteoutOf, type Whiteout } from "./whiteout.ts";

export type { FlattenLimits, Survivor } from "./survivors.ts";

const defaultLimits: FlattenLimits = { files: 1_000_000, nameBytes: 64 * 1024 * 1024 };

/** Files that higher layers hide cost memory, too: as many again as an image may have. */
const rememberedFactor = 2;

/** What eStargz puts into the root of every layer, for its own use. */
const bookkeeping = new Set(["stargz.index.json", ".prefetch.landmark", ".no.prefetch.landmark"]);

/** A regular file, whose content is to be written now although a higher layer may hide it. */
export interface NewFile {
  /** To tell it by: 0, 1, 2 and so on. */
  readonly id: number;
  /** The base name, under which it is cached if it survives. */
  readonly name: string;
}

/**
 * Lays the layers of an image over each other, as a container runtime would, and tells which files
 * are left (OCI image-spec, layer.md). Layers may be told of at the same time, in any interleaving;
 * the result is the same. Memory is bounded by the limits, whatever the layers hold.
 */
export class Flattening {
  readonly #image: string;
  readonly #limits: FlattenLimits;
  readonly #entries = new LayerEntries();
  /** Entries so far, by layer. */
  readonly #counts = new Map<number, number>();
  #files = 0;

  /**
   * @param what names the image in errors
   * @param limits default 1,000,000 files and 64 MiB of base names
   */
  constructor(what: string, limits: FlattenLimits = defaultLimits) {
    this.#image = what;
    this.#limits = limits;
  }

  /**
   * Takes the next entry of a layer.
   *
   * @param layer counted from 0, lowest first
   * @returns undefined for everything but a regular file
   * @throws LarderError `image` for what no image may hold, hidden or not
   */
  add(layer: number, entry: TarEntry): NewFile | undefined {
    const components = pathComponents(entry.path);
    const whiteout = whiteoutOf(components);
    if (whiteout !== undefined) return this.#hide(whiteout, layer, entry);
    if (isBookkeeping(components, entry)) return undefined;
    if (entry.kind !== "directory" && !hasFileName(entry.path)) throw this.#nameless(layer, entry);
    const name = components.at(-1) ?? "";
    const id = entry.kind === "file" && name !== sentinelName ? this.#files++ : undefined;
    this.#entries.place(components, this.#nextTime(layer), entry, id);
    this.#checkRemembered();
    return id === undefined ? undefined : { id, name: writableName(id, name) };
  }

  /**
   * The files that are left, sorted by name. To be called once every layer was told of to its end.
   *
   * @throws LarderError `image` when what is left cannot be cached: something that is no regular
   *   file, a name that no file can have or that two have, nothing at all, or too much
   */
  survivors(): readonly Survivor[] {
    const result = survivorsOf(this.#entries, this.#limits);
    if ("why" in result) throw this.#refusal(result);
    return result;
  }

  #hide(whiteout: Whiteout, layer: number, entry: TarEntry): undefined {
    // Lower layers only: what its own layer says has this time or a later one.
    const time = timeIn(layer, 0);
    switch (whiteout.kind) {
      case "path":
        this.#entries.tree.hide(whiteout.path, time);
        break;
      case "below":
        this.#entries.tree.hideBelow(whiteout.path, time);
        break;
      case "metadata":
        return;
      case "invalid":
        throw this.#refusal({
          why: `${quotePath(entry.path)} of layer ${layer + 1} ${whiteout.why}`,
          todo: "build the image with a tool that writes whiteouts right; names that begin with .wh. are kept for them",
        });
    }
    this.#checkRemembered();
  }

  #nextTime(layer: number): number {
    const count = this.#counts.get(layer) ?? 0;
    this.#counts.set(layer, count + 1);
    return timeIn(layer, count);
  }

  #checkRemembered(): void {
    const files = rememberedFactor * this.#limits.files;
    const bytes = rememberedFactor * this.#limits.nameBytes;
    const { paths, nameBytes } = this.#entries.tree;
    if (paths <= files && nameBytes <= bytes && this.#files <= files) return;
    throw this.#refusal({
      why: `with what higher layers hide, its layers have more than ${files} files and directories or ${bytes} bytes of names`,
      todo: "split it into several images, or build it so that layers do not replace each other's files",
    });
  }

  #nameless(layer: number, entry: TarEntry): LarderError {
    return this.#refusal({
      why: `the entry ${quotePath(entry.path)} of layer ${layer + 1} is ${describeKind(entry)} without a file name`,
      todo: "build the image with a tool that names every file",
    });
  }

  #refusal(objection: Objection): LarderError {
    return new LarderError("image", { what: `cannot cache ${this.#image}`, ...objection });
  }
}

function isBookkeeping(components: readonly string[], entry: TarEntry): boolean {
  return entry.kind === "file" && components.length === 1 && bookkeeping.has(components[0] ?? "");
}

/** A name that no file can have matters only if the file survives, and is refused then. */
function writableName(id: number, component: string): string {
  return nameFault(component) === undefined ? decodeName(component) : `unnamed-${id}`;
}
