import { desiredOf, type CacheSpec, type NodeFacts } from "./cache-spec.ts";
import type { Memory } from "./memory.ts";

/** What the cluster says, as far as it is known. */
export interface Cluster {
  /** Every ImageCache and this node were read at least once since the start. */
  readonly synced: boolean;
  /** Both watches are open: what they say is of now. */
  readonly live: boolean;
  /** Undefined where the cluster has no node of this name. */
  readonly node: NodeFacts | undefined;
  readonly caches: Iterable<CacheSpec>;
}

/** What a pass goes by. */
export interface Declared {
  readonly desired: readonly CacheSpec[];
  /** Every cache path that a resource names. */
  readonly paths: readonly string[];
  /** The node whose labels are to be written; undefined where none is known. */
  readonly node: NodeFacts | undefined;
  /** Heard from the cluster over watches that are open, not remembered: only then is anything collected. */
  readonly current: boolean;
}

/**
 * Where the cluster has not spoken, or does not know this node, the last desired state stands in: good
 * for repair, and for nothing else.
 */
export function declared(cluster: Cluster, memory: Memory): Declared {
  const { synced, live, node, caches } = cluster;
  if (!synced || node === undefined) {
    const { desired } = memory;
    return {
      desired,
      paths: desired.map(({ cachePath }) => cachePath),
      node: undefined,
      current: false,
    };
  }
  const all = [...caches];
  return {
    desired: desiredOf(all, node.labels),
    paths: all.map(({ cachePath }) => cachePath),
    node,
    current: live,
  };
}
