import { randomUUID } from "node:crypto";

import type { KubeObject, ObjectMeta } from "../src/kube/object.ts";

/** A change of one object, as a watch tells it. */
export interface Happening {
  readonly revision: number;
  /** Undefined: it was not there. */
  readonly before: KubeObject | undefined;
  /** Undefined: it is gone. */
  readonly now: KubeObject | undefined;
}

export type Verdict = "exists" | "missing" | "conflict";

/** What an API server keeps of one kind: objects, and every change since the last compaction. */
export class ApiHistory {
  readonly #objects = new Map<string, KubeObject>();
  readonly #happened: Happening[] = [];
  #revision: number;
  #compacted = 0;

  /** @param revision where it begins */
  constructor(revision = 100) {
    this.#revision = revision;
  }

  get revision(): number {
    return this.#revision;
  }

  get(key: string): KubeObject | undefined {
    return this.#objects.get(key);
  }

  /** In the order of their keys, as etcd has them. */
  all(): KubeObject[] {
    return [...this.#objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  /** Undefined where that is too long ago. */
  since(revision: number): readonly Happening[] | undefined {
    if (revision < this.#compacted) return undefined;
    return this.#happened.filter((each) => each.revision > revision);
  }

  /** Forgets every change up to now. */
  compact(): void {
    this.#compacted = this.#revision;
    this.#happened.length = 0;
  }

  /** Puts an object in place; one that is there keeps its uid. */
  put(object: KubeObject, mode: "create" | "replace" | "any"): Happening | Verdict {
    const before = this.#objects.get(keyOf(object.metadata));
    if (before && mode === "create") return "exists";
    if (!before && mode === "replace") return "missing";
    const given = object.metadata.resourceVersion;
    if (before && given !== undefined && given !== before.metadata.resourceVersion) {
      return "conflict";
    }
    const now = this.#stamped(object, before);
    return this.#happen(before, now);
  }

  remove(key: string, uid?: string, resourceVersion?: string): Happening | Verdict {
    const before = this.#objects.get(key);
    if (before === undefined) return "missing";
    const { metadata } = before;
    if (uid !== undefined && uid !== metadata.uid) return "conflict";
    if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
      return "conflict";
    }
    return this.#happen(before, undefined);
  }

  #happen(before: KubeObject | undefined, now: KubeObject | undefined): Happening {
    this.#revision += 1;
    const revision = this.#revision;
    const object = now ?? before!;
    const stamped = withRevision(object, revision);
    const key = keyOf(object.metadata);
    if (now) this.#objects.set(key, stamped);
    else this.#objects.delete(key);
    const happening = { revision, before, now: now && stamped };
    this.#happened.push(happening);
    return happening;
  }

  #stamped(object: KubeObject, before: KubeObject | undefined): KubeObject {
    const { uid, creationTimestamp } = before?.metadata ?? {};
    const metadata = {
      ...object.metadata,
      uid: uid ?? randomUUID(),
      creationTimestamp: creationTimestamp ?? new Date().toISOString(),
      managedFields: [{ manager: "somebody", operation: "Update", fieldsV1: { "f:data": {} } }],
    };
    return { ...object, metadata };
  }
}

/** As an event of a change carries it: also a deleted object has the revision of its deletion. */
export function withRevision(object: KubeObject, revision: number): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

export function keyOf({ namespace, name }: Pick<ObjectMeta, "namespace" | "name">): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
