/** An informer at work, with everything that it ever said. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";

import type { Client } from "../../src/kube/client.ts";
import {
  Informer,
  type Change,
  type InformerOptions,
  type InformerState,
} from "../../src/kube/informer.ts";
import type { KubeObject } from "../../src/kube/object.ts";
import type { Resource } from "../../src/kube/resource.ts";

export const configMaps: Resource = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};

/** What these tests keep of a ConfigMap. */
export interface Kept {
  readonly name: string;
  readonly uid: string;
  readonly value: string;
}

export function configMap(namespace: string, name: string, value: string, labels = {}): KubeObject {
  return { metadata: { name, namespace, labels }, data: { value } };
}

export function keep({ metadata, data }: KubeObject): Kept {
  const { name, uid = "" } = metadata;
  const value = typeof data === "object" && data !== null && "value" in data ? data.value : "";
  return { name, uid, value: String(value) };
}

/** Waits of a test's length. */
const quick = { backoff: { firstMs: 20, maxMs: 200 }, calmMs: 50 };

export interface Followed {
  readonly informer: Informer<Kept>;
  readonly changes: Change<Kept>[];
  readonly states: InformerState[];
  readonly problems: { readonly name: string; readonly error: unknown }[];
  /** Lists and watches that it asked for. */
  readonly asked: { pages: number; watch: number };
  /** Changes as short text, sorted: `added a=1`, `live updated a=1>2`. */
  said(): string[];
  /** Names and values that are there. */
  state(): Record<string, string>;
  stop(): Promise<void>;
}

/** Starts an informer that ends with the test; every change has to follow from the ones before. */
export function follow(
  t: TestContext,
  client: Client,
  options: Partial<InformerOptions<Kept>> = {},
): Followed {
  const changes: Change<Kept>[] = [];
  const states: InformerState[] = [];
  const problems: { name: string; error: unknown }[] = [];
  const asked = { pages: 0, watch: 0 };
  const known = new Map<string, Kept>();
  const informer = new Informer<Kept>({
    resource: configMaps,
    parse: keep,
    ...options,
    limits: { ...quick, ...options.limits },
    client: counting(client, asked),
    onChange: (change) => {
      fold(known, change);
      changes.push(change);
    },
    onState: (state) => states.push(state),
    onProblem: (name, error) => problems.push({ name, error }),
  });
  const stopped = new AbortController();
  const running = informer.run(stopped.signal);
  const stop = async () => {
    stopped.abort();
    await running;
  };
  t.after(stop);
  return {
    informer,
    changes,
    states,
    problems,
    asked,
    said: () => changes.map(shown).sort(),
    state: () => {
      const values = [...informer.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
      assert.deepEqual(
        [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
        values,
      );
      return Object.fromEntries(values.map(({ name, value }) => [name, value]));
    },
    stop,
  };
}

function counting(client: Client, asked: Followed["asked"]): Pick<Client, "pages" | "watch"> {
  return {
    pages: (resource, options) => {
      asked.pages += 1;
      return client.pages(resource, options);
    },
    watch: (resource, options) => {
      asked.watch += 1;
      return client.watch(resource, options);
    },
  };
}

function fold(known: Map<string, Kept>, change: Change<Kept>): void {
  const { kind, name } = change;
  assert.deepEqual(
    known.get(name),
    kind === "added" ? undefined : change.before,
    `${kind} ${name}`,
  );
  if (kind === "deleted") known.delete(name);
  else known.set(name, change.now);
}

function shown(change: Change<Kept>): string {
  const { kind, name, live } = change;
  const before = kind === "added" ? "" : change.before.value;
  const now = kind === "deleted" ? "" : change.now.value;
  const values = kind === "updated" ? `${before}>${now}` : before + now;
  return `${live ? "live " : ""}${kind} ${name}=${values}`;
}
