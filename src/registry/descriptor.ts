import { LarderError } from "../errors.ts";
import { isDigest } from "./digest.ts";
import type { Descriptor } from "./image.ts";
import { asObject, member, text } from "./json.ts";
import type { JsonObject } from "./json.ts";
import type { Platform } from "./platform.ts";

/** The remedy for an image that nothing on this machine can mend. */
const askPublisher = "the image itself is at fault: push it again, or ask its publisher to";

export function malformed(where: string, why: string): LarderError {
  return new LarderError("image", { what: `cannot use ${where}`, why, todo: askPublisher });
}

/**
 * A descriptor as manifests and indexes hold it, reduced to the fields in use.
 * @param name which one it is, for the error: `its config`, `entry 3 of its manifests`
 * @throws LarderError `image` when the media type, digest or size is missing or not valid
 */
export function parseDescriptor(value: unknown, where: string, name: string): Descriptor {
  const object = asObject(value);
  if (object === undefined) throw malformed(where, `${name} is not an object`);
  const mediaType = text(object, "mediaType");
  if (mediaType === undefined) throw malformed(where, `${name} has no media type`);
  const digest = member(object, "digest");
  if (!isDigest(digest)) {
    const said = typeof digest === "string" ? `the digest "${digest.slice(0, 150)}"` : "no digest";
    throw malformed(where, `${name} has ${said}, where Larder can check sha256 and sha512 alone`);
  }
  const size = member(object, "size");
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) {
    throw malformed(where, `${name} has no valid size in bytes`);
  }
  return { mediaType, digest, size, ...optionalFields(object) };
}

function optionalFields(object: JsonObject): Partial<Descriptor> {
  const platform = parsePlatformObject(asObject(member(object, "platform")));
  const artifactType = text(object, "artifactType");
  const annotations = parseAnnotations(asObject(member(object, "annotations")));
  const urls = member(object, "urls");
  return {
    ...(platform && { platform }),
    ...(artifactType !== undefined && { artifactType }),
    ...(annotations && { annotations }),
    ...(Array.isArray(urls) && { urls: urls.filter((url) => typeof url === "string") }),
  };
}

/** The platform that an index entry or a config declares; undefined unless it names os and architecture. */
export function parsePlatformObject(object: JsonObject | undefined): Platform | undefined {
  if (object === undefined) return undefined;
  const os = text(object, "os");
  const architecture = text(object, "architecture");
  const variant = text(object, "variant");
  if (os === undefined || architecture === undefined) return undefined;
  return { os, architecture, ...(variant !== undefined && { variant }) };
}

function parseAnnotations(object: JsonObject | undefined): Record<string, string> | undefined {
  if (object === undefined) return undefined;
  const pairs = Object.entries(object).filter(
    (pair): pair is [string, string] => typeof pair[1] === "string",
  );
  return Object.fromEntries(pairs);
}
