import { asKubeObject } from "../src/kube/object.ts";
import { keyOf, type ApiHistory, type Happening, type Verdict } from "./api-history.ts";

/** Where in a kind's collection a request writes. */
export interface WritePlace {
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/** What a POST, PUT, PATCH or DELETE does. Every patch is taken for a merge patch. */
export function writeTo(
  history: ApiHistory,
  method: string,
  { namespace, name = "" }: WritePlace,
  body: unknown,
): Happening | Verdict {
  const within = namespace === undefined ? {} : { namespace };
  const key = keyOf({ ...within, name });
  if (method === "DELETE") {
    const { uid, resourceVersion } = preconditionsOf(body);
    return history.remove(key, uid, resourceVersion);
  }
  if (method === "PATCH") {
    const known = history.get(key);
    if (known === undefined) return "missing";
    const { resourceVersion: _, ...metadata } = known.metadata;
    const merged = asKubeObject(merge({ ...known, metadata }, body));
    return merged ? history.put(merged, "replace") : "conflict";
  }
  const given = asKubeObject(body);
  if (given === undefined) return "conflict";
  const metadata = { ...given.metadata, ...within };
  return history.put({ ...given, metadata }, method === "POST" ? "create" : "replace");
}

/** RFC 7396. */
function merge(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged = new Map(Object.entries(isRecord(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, merge(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function preconditionsOf(body: unknown): { uid?: string; resourceVersion?: string } {
  const given = isRecord(body) && isRecord(body["preconditions"]) ? body["preconditions"] : {};
  const { uid, resourceVersion } = given;
  return {
    ...(typeof uid === "string" && { uid }),
    ...(typeof resourceVersion === "string" && { resourceVersion }),
  };
}
