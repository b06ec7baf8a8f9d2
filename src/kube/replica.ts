import type { KubeObject } from "./object.ts";

/**
 * What became of an object. `live`: said by an event of an open watch; false: found by comparing with a
 * list, or the object is left out from now on, so nobody saw it go.
 */
export type Change<T> =
  | { readonly kind: "added"; readonly name: string; readonly now: T; readonly live: boolean }
  | {
      readonly kind: "updated";
      readonly name: string;
      readonly before: T;
      readonly now: T;
      readonly live: boolean;
    }
  | { readonly kind: "deleted"; readonly name: string; readonly before: T; readonly live: boolean };

/** One object as it is kept: what was parsed of it, and which state of which object that was. */
export interface Entry<T> {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Undefined: left out. Kept all the same, so that it is parsed once. */
  readonly value: T | undefined;
}

export interface ReplicaOptions<T> {
  /** What an object is called here. */
  readonly nameOf: (object: KubeObject) => string;
  /** Never throws; undefined leaves the object out. */
  readonly parse: (object: KubeObject) => T | undefined;
}

/** The objects of one kind as last heard of. Pure: what changes comes back as changes. */
export class Replica<T> {
  readonly #options: ReplicaOptions<T>;
  #entries = new Map<string, Entry<T>>();

  constructor(options: ReplicaOptions<T>) {
    this.#options = options;
  }

  get(name: string): T | undefined {
    return this.#entries.get(name)?.value;
  }

  *values(): Generator<T> {
    for (const { value } of this.#entries.values()) if (value !== undefined) yield value;
  }

  get size(): number {
    let size = 0;
    for (const _ of this.values()) size += 1;
    return size;
  }

  /** Adds an object to a list that is being read; an unchanged one is not parsed again. */
  collect(list: Map<string, Entry<T>>, object: KubeObject): void {
    const name = this.#options.nameOf(object);
    list.set(name, this.#entryOf(object, list.get(name) ?? this.#entries.get(name)));
  }

  /** A whole list takes the place of what was known. Deletions come first. */
  replace(list: Map<string, Entry<T>>): Change<T>[] {
    const before = this.#entries;
    this.#entries = list;
    const gone = [...before].filter(([name]) => !list.has(name));
    return [
      ...gone.flatMap(([name, entry]) => difference(name, entry, undefined, false)),
      ...[...list].flatMap(([name, entry]) => difference(name, before.get(name), entry, false)),
    ];
  }

  /** An event of an open watch: the object is there, in this state. */
  put(object: KubeObject): Change<T>[] {
    const name = this.#options.nameOf(object);
    const before = this.#entries.get(name);
    const now = this.#entryOf(object, before);
    this.#entries.set(name, now);
    return difference(name, before, now, true);
  }

  /** An event of an open watch: the object is gone. */
  remove(object: KubeObject): Change<T>[] {
    const name = this.#options.nameOf(object);
    const before = this.#entries.get(name);
    this.#entries.delete(name);
    return difference(name, before, undefined, true);
  }

  #entryOf(object: KubeObject, known: Entry<T> | undefined): Entry<T> {
    const { uid = "", resourceVersion = "" } = object.metadata;
    const same = known?.uid === uid && known.resourceVersion === resourceVersion;
    if (known !== undefined && same && resourceVersion !== "") return known;
    return { uid, resourceVersion, value: this.#options.parse(object) };
  }
}

/** None, one, or two changes: another object under the same name is a deletion and an addition. */
function difference<T>(
  name: string,
  before: Entry<T> | undefined,
  now: Entry<T> | undefined,
  live: boolean,
): Change<T>[] {
  if (before === now) return [];
  if (before?.value === undefined) {
    return now?.value === undefined ? [] : [{ kind: "added", name, now: now.value, live }];
  }
  const deleted = { kind: "deleted", name, before: before.value } as const;
  if (now === undefined) return [{ ...deleted, live }];
  // The event told of a change, not of a deletion.
  if (now.value === undefined) return [{ ...deleted, live: live && now.uid !== before.uid }];
  if (now.uid !== before.uid) {
    return [
      { ...deleted, live },
      { kind: "added", name, now: now.value, live },
    ];
  }
  return [{ kind: "updated", name, before: before.value, now: now.value, live }];
}
