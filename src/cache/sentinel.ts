import { sentinelName } from "../image/survivors.ts";
import { isDigest, type Digest } from "../registry/digest.ts";
import { asObject, member, type JsonObject } from "../registry/json.ts";

export { sentinelName };

/**
 * 1,000,000 files with 64 MiB of names are what an image may have. Each name stands in `files`,
 * `sizes` and `sums`, with some 60 bytes around the three.
 */
export const maxSentinelBytes = 256 * 1024 * 1024;

/** What the agent writes as owner, and what the command line does. */
export type SentinelOwner = "image-cache-agent" | "imagecachectl";

/** What a filled directory says of itself. All but the first two are absent in an older agent's. */
export interface Sentinel {
  /** Of the platform's manifest; of the config for an archive without manifest. */
  readonly digest: Digest;
  /** Base names. */
  readonly files: readonly string[];
  /** A `SentinelOwner`, or whatever somebody else wrote. */
  readonly owner?: string;
  /** The reference asked for. */
  readonly source?: string;
  /** File name of the archive that it came from. */
  readonly archive?: string;
  /** What the reference named at the registry: an index's digest where it named one. */
  readonly resolved?: Digest;
  /** `os/arch[/variant]`. */
  readonly platform?: string;
  /** Diff IDs, lowest layer first. */
  readonly layers?: readonly string[];
  /** Bytes of each file. */
  readonly sizes?: ReadonlyMap<string, number>;
  /** Checksum of each file, `<algorithm>:<hex>`. */
  readonly sums?: ReadonlyMap<string, string>;
}

/** A sentinel, or what is wrong with it, to go after the words `its sentinel`. */
export type Parsed =
  | { readonly sentinel: Sentinel; readonly problem?: undefined }
  | { readonly problem: string; readonly sentinel?: undefined };

/** Reads a sentinel's bytes; keys that Larder does not know are passed over. */
export function parseSentinel(bytes: Uint8Array): Parsed {
  const object = parseJson(bytes);
  if (object === undefined) return { problem: "is not a JSON object" };
  const digest = member(object, "digest");
  if (!isDigest(digest)) return { problem: "has no valid digest" };
  const files = stringsOf(member(object, "files"));
  if (files === undefined) return { problem: "has no valid list of files" };
  const odd = files.find((file) => !isFileName(file));
  if (odd !== undefined) return { problem: `lists ${JSON.stringify(odd)}, which is no file name` };
  return parseAdded(object, { digest, files });
}

/** The bytes of a sentinel: laid out for people, unless it is long. */
export function formatSentinel(sentinel: Sentinel): string {
  const { sizes, sums, ...plain } = sentinel;
  const object = {
    ...plain,
    ...(sizes === undefined ? {} : { sizes: Object.fromEntries(sizes) }),
    ...(sums === undefined ? {} : { sums: Object.fromEntries(sums) }),
  };
  return `${JSON.stringify(object, undefined, sentinel.files.length > 1000 ? 0 : 2)}\n`;
}

/** What is written anew in a sentinel that stands already. */
export interface SentinelMembers {
  readonly owner?: SentinelOwner;
  readonly resolved?: Digest;
}

/**
 * The bytes of a valid sentinel with other members. Everything else stays as it was written, keys
 * and numbers that Larder does not understand included.
 */
export function withMembers(bytes: Uint8Array, members: SentinelMembers): string {
  const object = asObject(JSON.parse(decode(bytes), keepNumber)) ?? {};
  return `${JSON.stringify({ ...object, ...members }, undefined, 2)}\n`;
}

/** A reviver that keeps numbers as they are spelt, however long. */
function keepNumber(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === "number" && context?.source !== undefined
    ? rawJson(context.source)
    : value;
}

/** What JSON.stringify prints as it is: in the language since 2025, not in TypeScript's library. */
const rawJson: (text: string) => unknown =
  "rawJSON" in JSON && typeof JSON.rawJSON === "function"
    ? JSON.rawJSON.bind(JSON)
    : (text) => Number(text);

/** Whether the agent may remove what a sentinel describes: it is its owner, or nobody is. */
export function belongsToAgent(sentinel: Sentinel): boolean {
  return sentinel.owner === undefined || sentinel.owner === "image-cache-agent";
}

function parseAdded(object: JsonObject, base: Sentinel): Parsed {
  const texts: Partial<Record<"owner" | "source" | "archive" | "platform", string>> = {};
  for (const key of ["owner", "source", "archive", "platform"] as const) {
    const value = member(object, key);
    if (value === undefined) continue;
    if (typeof value !== "string") return wrong(key);
    texts[key] = value;
  }
  const resolved = member(object, "resolved");
  if (resolved !== undefined && !isDigest(resolved)) return wrong("resolved");
  const layers = optional(member(object, "layers"), stringsOf);
  if (layers === null) return wrong("layers");
  const sizes = optional(member(object, "sizes"), (value) => mapOf(value, isSize));
  if (sizes === null) return wrong("sizes");
  const sums = optional(member(object, "sums"), (value) => mapOf(value, isSumText));
  if (sums === null) return wrong("sums");
  return {
    sentinel: {
      ...base,
      ...texts,
      ...(resolved === undefined ? {} : { resolved }),
      ...(layers === undefined ? {} : { layers }),
      ...(sizes === undefined ? {} : { sizes }),
      ...(sums === undefined ? {} : { sums }),
    },
  };
}

function wrong(key: string): Parsed {
  return { problem: `has "${key}" in a wrong form` };
}

/** Undefined for what is not there, null for what does not parse. */
function optional<T>(
  value: unknown,
  parse: (value: unknown) => T | undefined,
): T | null | undefined {
  return value === undefined ? undefined : (parse(value) ?? null);
}

function parseJson(bytes: Uint8Array): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(decode(bytes));
    return asObject(value);
  } catch {
    return undefined;
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

function stringsOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((item) => typeof item === "string")
    ? value
    : undefined;
}

function mapOf<T>(
  value: unknown,
  is: (item: unknown) => item is T,
): ReadonlyMap<string, T> | undefined {
  const object = asObject(value);
  if (object === undefined) return undefined;
  const map = new Map<string, T>();
  for (const [key, item] of Object.entries(object)) {
    if (!is(item)) return undefined;
    map.set(key, item);
  }
  return map;
}

function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isSumText(value: unknown): value is string {
  return typeof value === "string" && /^[a-z0-9]+:[0-9a-f]+$/.test(value);
}

/** Whether a name can only be that of a file directly in the directory, and not the sentinel's. */
export function isFileName(name: string): boolean {
  if (name === "" || name === "." || name === ".." || name === sentinelName) return false;
  return !/[/\0]/.test(name) && name.isWellFormed() && Buffer.byteLength(name) <= 255;
}
