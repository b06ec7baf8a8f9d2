import { asObject, member, type JsonObject } from "../registry/json.ts";

/** What every object says about itself, as far as Larder reads it. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  /** RFC 3339. */
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: unknown;
}

/** An object of any kind: its metadata, and members of which nothing is known yet. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [member: string]: unknown;
}

/**
 * An object as an API server sends it; undefined where it is none. `managedFields`, often longer than
 * all the rest, are left out: a server takes their absence in an update as no change.
 */
export function asKubeObject(value: unknown): KubeObject | undefined {
  const object = asObject(value);
  const metadata = object && asMeta(member(object, "metadata"));
  if (object === undefined || metadata === undefined) return undefined;
  const { apiVersion, kind, ...rest } = object;
  return {
    ...(typeof apiVersion === "string" && { apiVersion }),
    ...(typeof kind === "string" && { kind }),
    ...rest,
    metadata,
  };
}

function asMeta(value: unknown): ObjectMeta | undefined {
  const given = asObject(value);
  const name = given?.["name"];
  if (given === undefined || typeof name !== "string" || name === "") return undefined;
  const text = (key: keyof ObjectMeta) => typeof given[key] === "string" && { [key]: given[key] };
  const words = (key: keyof ObjectMeta) => isWords(given[key]) && { [key]: given[key] };
  const { generation, ownerReferences } = given;
  return {
    name,
    ...text("namespace"),
    ...text("uid"),
    ...text("resourceVersion"),
    ...(typeof generation === "number" && { generation }),
    ...text("creationTimestamp"),
    ...text("deletionTimestamp"),
    ...words("labels"),
    ...words("annotations"),
    ...(ownerReferences !== undefined && { ownerReferences }),
  };
}

function isWords(value: unknown): value is Readonly<Record<string, string>> {
  const object: JsonObject | undefined = asObject(value);
  return object !== undefined && Object.values(object).every((each) => typeof each === "string");
}
