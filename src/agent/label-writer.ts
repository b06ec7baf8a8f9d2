import { isOlder } from "../kube/history.ts";
import type { NodeFacts } from "./cache-spec.ts";
import { labelPatch, type LabelPatch, type Sync } from "./labels.ts";

export interface LabelWriterOptions {
  /** `image-cache.scality.com/` */
  readonly prefix: string;
  /** Patches the labels of this node; returns the node as it is then, undefined where it is gone. */
  readonly patch: (labels: LabelPatch, signal: AbortSignal) => Promise<NodeFacts | undefined>;
}

/**
 * Keeps the node's labels as wanted: one request at a time, of the newest wish, and none when nothing
 * changes, also while the watch has not yet told of the last one.
 */
export class LabelWriter {
  readonly #options: LabelWriterOptions;
  #written: NodeFacts | undefined;
  #wish: { readonly node: NodeFacts; readonly want: ReadonlyMap<string, Sync> } | undefined;
  #work: Promise<void> = Promise.resolve();
  #busy = false;

  constructor(options: LabelWriterOptions) {
    this.#options = options;
  }

  /** Resolves when the node has these labels or newer ones; rejects with what a request failed by. */
  write(node: NodeFacts, want: ReadonlyMap<string, Sync>, signal: AbortSignal): Promise<void> {
    this.#wish = { node, want };
    if (!this.#busy) {
      this.#busy = true;
      this.#work = this.#run(signal);
    }
    return this.#work;
  }

  /**
   * What was written counts no more than what is told from now on: a cluster that was restored from a
   * backup has the same node without it, in a history that is older.
   */
  forget(): void {
    this.#written = undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      while (this.#wish !== undefined) {
        const { node, want } = this.#wish;
        this.#wish = undefined;
        const patch = labelPatch(this.#options.prefix, this.#newest(node).labels, want);
        if (patch !== undefined) this.#written = await this.#options.patch(patch, signal);
      }
    } finally {
      this.#busy = false;
    }
  }

  /** The node as the watch tells it, or as the last answer did where that is newer. */
  #newest(node: NodeFacts): NodeFacts {
    const written = this.#written;
    if (written === undefined || written.uid !== node.uid) return node;
    return isOlder(node.resourceVersion, written.resourceVersion) ? written : node;
  }
}
