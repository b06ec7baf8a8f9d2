import type { KubeObject } from "../src/kube/object.ts";

/** Whether an object is meant by a namespace and the selectors of a query. */
export type Selects = (object: KubeObject) => boolean;

/** Equality-based label selectors, and the fields metadata.name and metadata.namespace. */
export function selectionOf(namespace: string | undefined, query: URLSearchParams): Selects {
  const labels = termsOf(query.get("labelSelector"));
  const fields = termsOf(query.get("fieldSelector"));
  return ({ metadata }) => {
    if (namespace !== undefined && metadata.namespace !== namespace) return false;
    const known = { "metadata.name": metadata.name, "metadata.namespace": metadata.namespace };
    return (
      labels.every((term) => holds(term, metadata.labels ?? {})) &&
      fields.every((term) => holds(term, known))
    );
  };
}

interface Term {
  readonly key: string;
  /** Undefined: the key has to be there, or not. */
  readonly value: string | undefined;
  readonly not: boolean;
}

function termsOf(text: string | null): Term[] {
  return (text ?? "")
    .split(",")
    .filter((term) => term !== "")
    .map((term) => {
      const [, not, key = "", operator = "", value] =
        /^(!?)([^=!]+)(!=|==?)?(.*)$/.exec(term) ?? [];
      return {
        key,
        value: operator === "" ? undefined : value,
        not: not === "!" || operator === "!=",
      };
    });
}

function holds({ key, value, not }: Term, words: Readonly<Record<string, string | undefined>>) {
  const has = value === undefined ? words[key] !== undefined : words[key] === value;
  return has !== not;
}
