import type { LarderError } from "../errors.ts";
import { imageCaches } from "../api/image-cache.ts";
import type { Client } from "../kube/client.ts";
import { Informer, type Change, type InformerState } from "../kube/informer.ts";
import { nodes } from "../kube/resource.ts";
import type { Clock } from "../registry/clock.ts";
import {
  parseCache,
  parseNode,
  placeOf,
  selects,
  type CacheSpec,
  type NodeFacts,
} from "./cache-spec.ts";
import type { Cluster } from "./declared.ts";

export interface ClusterOptions {
  readonly client: Client;
  readonly nodeName: string;
  /** The cache path of a resource that names none. */
  readonly defaultPath: string;
  /** Something that a pass goes by has changed. */
  readonly changed: () => void;
  /** A watch was opened, or lost, or cannot be opened for another reason than before. */
  readonly onWatch: (
    kind: "ImageCache" | "Node",
    live: boolean,
    why: LarderError | undefined,
  ) => void;
  /** An object that cannot be read is left out. */
  readonly onProblem: (kind: "ImageCache" | "Node", name: string, error: unknown) => void;
  /** A claim of this node's ended before our eyes. */
  readonly released: (cache: CacheSpec) => void;
  readonly clock: Clock;
  readonly random: () => number;
}

/** What the API server says: every ImageCache, and this one Node. */
export class ClusterWatch implements Cluster {
  readonly #options: ClusterOptions;
  readonly #nodes: Informer<NodeFacts>;
  readonly #caches: Informer<CacheSpec>;

  constructor(options: ClusterOptions) {
    const { client, clock, random, nodeName, defaultPath, changed } = options;
    this.#options = options;
    const common = { client, clock, random };
    const told = (kind: "ImageCache" | "Node") => ({
      onState: onceEach((state) => {
        options.onWatch(kind, state.live, state.why);
        changed();
      }),
      onProblem: (name: string, error: unknown) => {
        options.onProblem(kind, name, error);
      },
    });
    this.#nodes = new Informer({
      ...common,
      ...told("Node"),
      resource: nodes,
      // Ten thousand agents must not hold ten thousand copies of ten thousand nodes.
      fieldSelector: `metadata.name=${nodeName}`,
      parse: ({ metadata }) => parseNode(metadata),
      onChange: (change) => {
        this.#nodeChanged(change);
      },
    });
    this.#caches = new Informer({
      ...common,
      ...told("ImageCache"),
      resource: imageCaches,
      parse: ({ metadata, spec }) => parseCache(metadata, spec, defaultPath),
      onChange: (change) => {
        this.#cacheChanged(change);
      },
    });
  }

  get synced(): boolean {
    return this.#nodes.synced && this.#caches.synced;
  }

  get live(): boolean {
    return this.#nodes.live && this.#caches.live;
  }

  get node(): NodeFacts | undefined {
    return this.#nodes.get(this.#options.nodeName);
  }

  get caches(): Iterable<CacheSpec> {
    return this.#caches.values();
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#nodes.run(signal), this.#caches.run(signal)]);
  }

  /** A node that was deleted selects nothing new: it comes back, and its cache is for that day. */
  #nodeChanged(change: Change<NodeFacts>): void {
    if (change.kind === "updated" && change.live) {
      for (const cache of this.caches) {
        if (selects(cache, change.before.labels) && !selects(cache, change.now.labels)) {
          this.#options.released(cache);
        }
      }
    }
    this.#options.changed();
  }

  #cacheChanged(change: Change<CacheSpec>): void {
    const { node } = this;
    if (change.kind !== "added" && change.live && node !== undefined) {
      const { before } = change;
      const claims =
        change.kind === "updated" &&
        placeOf(change.now) === placeOf(before) &&
        selects(change.now, node.labels);
      if (selects(before, node.labels) && !claims) this.#options.released(before);
    }
    this.#options.changed();
  }
}

/** Each failed try is a state of its own; what is as it was, and for the same reason, is told once. */
function onceEach(tell: (state: InformerState) => void): (state: InformerState) => void {
  let before = "";
  return (state) => {
    const now = JSON.stringify([state.synced, state.live, state.why?.message]);
    if (now === before) return;
    before = now;
    tell(state);
  };
}
