import { decodeName } from "./entry-name.ts";
import { Numbers } from "./numbers.ts";

/** A path at which something stands that nothing hides. */
export interface Visible {
  /** The path's number. */
  readonly at: number;
  /** The path above it at which something stands that is no directory: both cannot be. */
  readonly blocker: number | undefined;
}

/** The time at a path where nothing stands: only something below was named, or it was hidden. */
const never = -1;

/**
 * The paths of an image, each with the time of its newest entry and with the times before which
 * things there were hidden. Since only times are compared, layers may be told of in any order and
 * interleaved. Paths are numbered, parents first, and all that is known of one is in lists by its
 * number: an object for each path would take several times the memory.
 */
export class PathTree {
  /** The last component, one character a byte. */
  readonly #names = [""];
  readonly #parents = new Numbers();
  /** When the newest entry at a path came. */
  readonly #times = new Numbers();
  /** Entries here and below are hidden when older than this: a whiteout. */
  readonly #goneBefore = new Numbers();
  /** Entries below are hidden when older than this: an opaque whiteout, or what is no directory. */
  readonly #clearedBefore = new Numbers();
  /** Where the newest entry is a directory. */
  readonly #directories = new Set<number>();
  /** Numbers by name, of the paths that have others below them. */
  readonly #children = new Map<number, Map<string, number>>();
  /** Bytes in the names of all paths. */
  nameBytes = 0;

  constructor() {
    this.#append(0);
  }

  /** How many paths are remembered: those of entries, of what is hidden, and of their parents. */
  get paths(): number {
    return this.#names.length - 1;
  }

  /**
   * Takes an entry that replaces what was at its path before its time, and below unless both are
   * directories.
   *
   * @returns the path's number; undefined when something newer stands there
   */
  place(components: readonly string[], time: number, isDirectory: boolean): number | undefined {
    const at = this.#number(components);
    if (!isDirectory) this.#clearedBefore.raise(at, time);
    if (time <= this.#times.get(at)) return undefined;
    this.#times.set(at, time);
    if (isDirectory) this.#directories.add(at);
    else this.#directories.delete(at);
    return at;
  }

  /** Hides what was at and below a path before a time. */
  hide(components: readonly string[], time: number): void {
    this.#goneBefore.raise(this.#number(components), time);
  }

  /** Hides what was below a path before a time. */
  hideBelow(components: readonly string[], time: number): void {
    this.#clearedBefore.raise(this.#number(components), time);
  }

  /** Everything that is not hidden, in no particular order. Each path is visited once. */
  *visible(): Generator<Visible, void, undefined> {
    const count = this.#names.length;
    /** By path: what is below it is hidden when older than this. */
    const hiddenBelow = new Float64Array(count);
    /** By path: what stands there or above and is no directory; -1 where nothing does. */
    const blockers = new Int32Array(count).fill(-1);
    for (let at = 0; at < count; at++) {
      const parent = this.#parents.get(at);
      const goneBefore = Math.max(hiddenBelow[parent] ?? 0, this.#goneBefore.get(at));
      const isVisible = this.#times.get(at) >= goneBefore;
      const blocker = blockers[parent] ?? -1;
      if (isVisible) yield { at, blocker: blocker === -1 ? undefined : blocker };
      hiddenBelow[at] = Math.max(goneBefore, this.#clearedBefore.get(at));
      blockers[at] = isVisible && !this.#directories.has(at) ? at : blocker;
    }
  }

  /** The last component of a path, one character a byte. */
  nameOf(at: number): string {
    return this.#names[at] ?? "";
  }

  /** The whole path as text. */
  pathOf(at: number): string {
    const names: string[] = [];
    for (let above = at; above !== 0; above = this.#parents.get(above)) {
      names.push(decodeName(this.nameOf(above)));
    }
    return names.toReversed().join("/");
  }

  /** When what stands at a path came. */
  timeOf(at: number): number {
    return this.#times.get(at);
  }

  #number(components: readonly string[]): number {
    let at = 0;
    for (const name of components) at = this.#child(at, name);
    return at;
  }

  #child(parent: number, name: string): number {
    let children = this.#children.get(parent);
    if (children === undefined) this.#children.set(parent, (children = new Map()));
    const known = children.get(name);
    if (known !== undefined) return known;
    const at = this.#names.push(name) - 1;
    children.set(name, at);
    this.nameBytes += name.length;
    this.#append(parent);
    return at;
  }

  #append(parent: number): void {
    this.#parents.push(parent);
    this.#times.push(never);
    this.#goneBefore.push(0);
    this.#clearedBefore.push(0);
  }
}
