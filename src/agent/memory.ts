import { checkCachePath, isName } from "../cache/names.ts";
import { asObject, member, parseObject, type JsonObject } from "../registry/json.ts";
import { parseCache, type CacheSpec } from "./cache-spec.ts";
import type { Orphan } from "./orphans.ts";

/** What an agent has to know across a restart, also when it comes back to no API server. */
export interface Memory {
  /** Every cache path that was ever scanned here. */
  readonly paths: readonly string[];
  /** The resources that this node had to have when that was last known. */
  readonly desired: readonly CacheSpec[];
  readonly orphans: readonly Orphan[];
}

/** Raised when the form changes so that an older agent would misread it. */
const version = 1;

export const nothingKnown: Memory = { paths: [], desired: [], orphans: [] };

/** The bytes of a memory, laid out for people. */
export function formatMemory({ paths, desired, orphans }: Memory): string {
  const dated = orphans.map((orphan) => ({
    ...orphan,
    since: new Date(orphan.since).toISOString(),
  }));
  return `${JSON.stringify({ version, paths, desired, orphans: dated }, undefined, 2)}\n`;
}

/**
 * Reads a memory. What cannot be read, and what a newer agent wrote, is no memory: that costs a
 * longer wait before something is collected, never a file. Single entries that make no sense are
 * left out.
 */
export function parseMemory(bytes: Buffer): Memory {
  const object = parseObject(bytes);
  if (object === undefined || member(object, "version") !== version) return nothingKnown;
  return {
    paths: listOf(object, "paths", pathOf),
    desired: listOf(object, "desired", desiredOf),
    orphans: listOf(object, "orphans", orphanOf),
  };
}

function listOf<T>(
  object: JsonObject,
  name: string,
  parse: (value: unknown) => T | undefined,
): readonly T[] {
  const value = member(object, name);
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) => parse(item) ?? []);
}

function pathOf(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  try {
    return checkCachePath(value);
  } catch {
    return undefined;
  }
}

function desiredOf(value: unknown): CacheSpec | undefined {
  const object = asObject(value);
  const [name, uid] = [member(object ?? {}, "name"), member(object ?? {}, "uid")];
  if (typeof name !== "string" || typeof uid !== "string") return undefined;
  // A remembered resource always has its path.
  return parseCache({ name, uid }, object, "");
}

function orphanOf(value: unknown): Orphan | undefined {
  const object = asObject(value) ?? {};
  const [name, seen, since] = [member(object, "name"), member(object, "seen"), timeOf(object)];
  const cachePath = pathOf(member(object, "cachePath"));
  if (cachePath === undefined || since === undefined) return undefined;
  if (typeof name !== "string" || !isName(name) || typeof seen !== "boolean") return undefined;
  return { cachePath, name, since, seen };
}

function timeOf(object: JsonObject): number | undefined {
  const since = member(object, "since");
  const time = typeof since === "string" ? Date.parse(since) : Number.NaN;
  return Number.isFinite(time) ? time : undefined;
}
