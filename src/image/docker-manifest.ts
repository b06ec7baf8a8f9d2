import { LarderError } from "../errors.ts";
import { asObject, member, text } from "../registry/json.ts";
import { maxLayers } from "../registry/manifest.ts";

/** One image of a docker archive's `manifest.json`. */
export interface SavedImage {
  /** Name of the config's file. */
  readonly config: string;
  /** `app:1`, `registry.example.com/app:1`; none for an image saved by its ID. */
  readonly tags: readonly string[];
  /** Names of the layers' files, lowest first. */
  readonly layers: readonly string[];
}

/** `docker save` of everything that a large host has stays far below. */
const maxImages = 10_000;

/**
 * Parses the `manifest.json` that `docker save` writes.
 *
 * @param where for messages: `/mnt/usb/app.tar`
 * @throws LarderError `image`
 */
export function parseSavedImages(bytes: Buffer, where: string): SavedImage[] {
  const list = parseList(bytes);
  if (list === undefined) throw malformed(where, "is not a JSON list");
  if (list.length > maxImages) throw malformed(where, `lists more than ${maxImages} images`);
  return list.map((item, at) => parseSavedImage(item, `image ${at + 1}`, where));
}

function parseSavedImage(item: unknown, name: string, where: string): SavedImage {
  const object = asObject(item);
  if (object === undefined) throw malformed(where, `has an ${name} that is not an object`);
  const config = text(object, "Config");
  if (config === undefined) throw malformed(where, `names no config for ${name}`);
  const layers = strings(member(object, "Layers"));
  const tags = strings(member(object, "RepoTags"));
  if (layers === undefined)
    throw malformed(where, `has no list of file names as layers of ${name}`);
  if (tags === undefined) throw malformed(where, `has no list of names as tags of ${name}`);
  if (layers.length > maxLayers) throw malformed(where, `lists more than ${maxLayers} layers`);
  return { config, tags, layers };
}

/** Go programs write `null` or nothing for an empty list. */
function strings(value: unknown): string[] | undefined {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return undefined;
  const found = value.filter((each) => typeof each === "string");
  return found.length === value.length ? found : undefined;
}

function parseList(bytes: Buffer): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function malformed(where: string, why: string): LarderError {
  return new LarderError("image", {
    what: `cannot use ${where}`,
    why: `its manifest.json ${why}`,
    todo: "the archive is damaged: save the image again",
  });
}
