import { decodeName } from "./entry-name.ts";

/** What stands at a path, and since when. Times grow from lower to higher layers and within one. */
export interface Placed {
  readonly time: number;
  readonly isDirectory: boolean;
}

/** An entry that nothing hides. */
export interface Visible<Entry> {
  readonly entry: Entry;
  /** Last component, one character a byte. */
  readonly name: string;
  /** Whole path as text. */
  readonly path: string;
  /** What stands, as no directory, at a path above it: both cannot be. */
  readonly blocker: { readonly entry: Entry; readonly path: string } | undefined;
}

interface Node<Entry> {
  readonly name: string;
  /** The newest entry at this path; undefined where only something below was named. */
  entry: Entry | undefined;
  /** Entries here and below are hidden when older than this: a whiteout. */
  goneBefore: number;
  /** Entries below are hidden when older than this: an opaque whiteout, or what is no directory. */
  clearedBefore: number;
  children: Map<string, Node<Entry>> | undefined;
}

/**
 * The paths of an image, each with its newest entry and with the times before which things there
 * were hidden. Since only times are compared, layers may be told of in any order and interleaved.
 */
export class PathTree<Entry extends Placed> {
  readonly #root: Node<Entry> = newNode("");
  /** How many paths are remembered: those of entries, of what is hidden, and of their parents. */
  paths = 0;
  /** Bytes in the names of all of them. */
  nameBytes = 0;

  /** Takes an entry that replaces what was at its path before its time, and below unless both are directories. */
  place(components: readonly string[], entry: Entry): void {
    const node = this.#node(components);
    if (node.entry === undefined || node.entry.time < entry.time) node.entry = entry;
    if (!entry.isDirectory) node.clearedBefore = Math.max(node.clearedBefore, entry.time);
  }

  /** Hides what was at and below a path before a time. */
  hide(components: readonly string[], time: number): void {
    const node = this.#node(components);
    node.goneBefore = Math.max(node.goneBefore, time);
  }

  /** Hides what was below a path before a time. */
  hideBelow(components: readonly string[], time: number): void {
    const node = this.#node(components);
    node.clearedBefore = Math.max(node.clearedBefore, time);
  }

  /** Everything that is not hidden, in no particular order. Each path is visited once. */
  *visible(): Generator<Visible<Entry>, void, undefined> {
    const waiting: Visit<Entry>[] = [
      { node: this.#root, path: "", hiddenBefore: 0, blocker: undefined },
    ];
    for (let visit = waiting.pop(); visit !== undefined; visit = waiting.pop()) {
      const { node, path, blocker } = visit;
      const goneBefore = Math.max(visit.hiddenBefore, node.goneBefore);
      const entry =
        node.entry !== undefined && node.entry.time >= goneBefore ? node.entry : undefined;
      if (entry !== undefined) yield { entry, name: node.name, path, blocker };
      if (node.children === undefined) continue;
      const hiddenBefore = Math.max(goneBefore, node.clearedBefore);
      const blocks = entry !== undefined && !entry.isDirectory ? { entry, path } : blocker;
      for (const child of node.children.values()) {
        waiting.push({ node: child, path: join(path, child.name), hiddenBefore, blocker: blocks });
      }
    }
  }

  #node(components: readonly string[]): Node<Entry> {
    let node = this.#root;
    for (const name of components) {
      node.children ??= new Map();
      let child = node.children.get(name);
      if (child === undefined) {
        child = newNode(name);
        node.children.set(name, child);
        this.paths++;
        this.nameBytes += name.length;
      }
      node = child;
    }
    return node;
  }
}

interface Visit<Entry> {
  readonly node: Node<Entry>;
  readonly path: string;
  /** What is older is hidden by something above. */
  readonly hiddenBefore: number;
  readonly blocker: { readonly entry: Entry; readonly path: string } | undefined;
}

function newNode<Entry>(name: string): Node<Entry> {
  return { name, entry: undefined, goneBefore: 0, clearedBefore: 0, children: undefined };
}

function join(directory: string, name: string): string {
  return directory === "" ? decodeName(name) : `${directory}/${decodeName(name)}`;
}
