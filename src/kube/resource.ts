import { LarderError } from "../errors.ts";

/** A kind of object, as an API server's paths name it. */
export interface Resource {
  /** `""` for the core group. */
  readonly group: string;
  readonly version: string;
  /** `nodes`: the word in paths. */
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export const nodes: Resource = core("nodes", "Node", false);
export const pods: Resource = core("pods", "Pod", true);

export const leases: Resource = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};

export const events: Resource = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};

function core(plural: string, kind: string, namespaced: boolean): Resource {
  return { group: "", version: "v1", plural, kind, namespaced };
}

/** `v1`, `coordination.k8s.io/v1`. */
export function apiVersionOf({ group, version }: Resource): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Which objects of a resource: one, those of a namespace, or all. */
export interface Place {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/**
 * `/api/v1/nodes/worker-1`.
 *
 * @throws LarderError `api` where a name would lead to another place
 */
export function pathOf(resource: Resource, place: Place): string {
  const { group, version, plural, namespaced } = resource;
  const { namespace, name } = place;
  const parts = [
    ...(group === "" ? ["api"] : ["apis", group]),
    version,
    ...(namespaced && namespace !== undefined ? ["namespaces", namespace] : []),
    plural,
    ...(name === undefined ? [] : [name]),
  ];
  if (!parts.every(isSegment)) throw misnamed(resource, place);
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

/** What no server takes as part of a path, however it is encoded. */
function isSegment(text: string): boolean {
  return text !== "" && text !== "." && text !== ".." && !/[/%]/.test(text);
}

function misnamed(resource: Resource, place: Place): LarderError {
  return new LarderError("api", {
    what: `cannot ask for ${shownPlace(resource, place)}`,
    why: "that is no name that an object can have",
    todo: "correct the name",
  });
}

/** For messages, as kubectl names them: `leases.coordination.k8s.io/kube-system/larder`. */
export function shownPlace({ group, plural }: Resource, { namespace, name }: Place): string {
  const kind = group === "" ? plural : `${plural}.${group}`;
  return [kind, namespace, name].filter((part) => part !== undefined).join("/");
}
