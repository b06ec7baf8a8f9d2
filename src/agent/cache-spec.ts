import { checkCachePath, isName } from "../cache/names.ts";
import { asObject, member } from "../registry/json.ts";

/** What the agent reads of an ImageCache. */
export interface CacheSpec {
  readonly name: string;
  readonly uid: string;
  readonly source: string;
  /** In its one spelling. */
  readonly cachePath: string;
  /** Exact pairs; empty selects every node. */
  readonly nodeSelector: Readonly<Record<string, string>>;
}

/** What the agent reads of its own Node. */
export interface NodeFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Metadata {
  readonly name: string;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/**
 * Reads an ImageCache; undefined for one that breaks the rules its CRD enforces, which an API server
 * with another CRD, or a damaged memory, may hand out.
 *
 * @param defaultPath the cache path of one that names none
 */
export function parseCache(
  { name, uid }: Metadata,
  spec: unknown,
  defaultPath: string,
): CacheSpec | undefined {
  const fields = asObject(spec) ?? {};
  const source = member(fields, "source");
  const path = member(fields, "cachePath") ?? defaultPath;
  const nodeSelector = textsOf(member(fields, "nodeSelector") ?? {});
  if (!isName(name) || typeof source !== "string" || typeof path !== "string") return undefined;
  const cachePath = normalPath(path);
  if (cachePath === undefined || nodeSelector === undefined) return undefined;
  return { name, uid: uid ?? "", source, cachePath, nodeSelector };
}

/** Reads a Node. */
export function parseNode({ name, uid, resourceVersion, labels }: Metadata): NodeFacts {
  return { name, uid: uid ?? "", resourceVersion: resourceVersion ?? "", labels: labels ?? {} };
}

/** Whether a resource is meant for a node with these labels. */
export function selects(
  { nodeSelector }: CacheSpec,
  labels: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(nodeSelector).every(
    ([key, value]) => Object.hasOwn(labels, key) && labels[key] === value,
  );
}

/** The resources that a node shall have, by name. */
export function desiredOf(
  caches: Iterable<CacheSpec>,
  labels: Readonly<Record<string, string>>,
): readonly CacheSpec[] {
  return [...caches]
    .filter((cache) => selects(cache, labels))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Where a resource's directory is, as one text: what claims and orphans are told apart by. */
export function placeOf({ cachePath, name }: { cachePath: string; name: string }): string {
  return `${cachePath}/${name}`;
}

function normalPath(path: string): string | undefined {
  try {
    return checkCachePath(path);
  } catch {
    return undefined;
  }
}

function textsOf(value: unknown): Readonly<Record<string, string>> | undefined {
  const object = asObject(value);
  if (object === undefined) return undefined;
  const entries = Object.entries(object);
  const texts = entries.flatMap(([key, text]): [string, string][] =>
    typeof text === "string" ? [[key, text]] : [],
  );
  return texts.length === entries.length ? Object.fromEntries(texts) : undefined;
}
