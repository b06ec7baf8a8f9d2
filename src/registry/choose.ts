import { LarderError } from "../errors.ts";
import type { Descriptor } from "./image.ts";
import { isManifest } from "./media-types.ts";
import { comparePlatforms, formatPlatform, platformMatches } from "./platform.ts";
import type { Platform } from "./platform.ts";

/** Whether an index entry is a build attestation, which lies beside the images that it is about. */
export function isAttestation(entry: Descriptor): boolean {
  if (entry.annotations?.["vnd.docker.reference.type"] !== undefined) return true;
  return entry.platform?.os === "unknown" && entry.platform.architecture === "unknown";
}

/**
 * Index entries worth a look for a platform, the best first. Entries that name no platform come
 * last: only their config can say whether they fit.
 */
export function candidates(entries: readonly Descriptor[], want: Platform): Descriptor[] {
  const images = entries.filter((entry) => isManifest(entry.mediaType));
  const fitting = images.filter(({ platform }) => platform && platformMatches(want, platform));
  fitting.sort((a, b) =>
    a.platform && b.platform ? comparePlatforms(want, a.platform, b.platform) : 0,
  );
  return [...fitting, ...images.filter(({ platform }) => platform === undefined)];
}

/** The refusal when no entry fits, listing what there is. */
export function noPlatform(where: string, want: Platform, have: readonly string[]): LarderError {
  const listed = [...new Set(have)].sort();
  return new LarderError("platform", {
    what: `cannot use ${where} for ${formatPlatform(want)}`,
    why: listed.length === 0 ? "its index lists no image at all" : `there is ${abridged(listed)}`,
    todo: "choose one of these with --platform, or push the image for this platform too",
  });
}

/** The refusal of an image whose config declares a platform other than the wanted one. */
export function otherPlatform(where: string, want: Platform, have: Platform): LarderError {
  return new LarderError("platform", {
    what: `cannot use ${where} for ${formatPlatform(want)}`,
    why: `its config says that it is for ${formatPlatform(have)}`,
    todo: `push it for ${formatPlatform(want)}, or choose ${formatPlatform(have)} with --platform`,
  });
}

const mostListed = 40;

function abridged(listed: readonly string[]): string {
  const rest = listed.length - mostListed;
  const shown = listed.slice(0, mostListed).join(", ");
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}
