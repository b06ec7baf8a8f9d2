import { endianness } from "node:os";

import { LarderError } from "../errors.ts";

/** The platform of an image, in the words of the OCI image spec (GOOS and GOARCH values). */
export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string;
}

/** What people and other tools write, and what the OCI image spec calls it. */
const architectureAliases: ReadonlyMap<string, readonly [architecture: string, variant?: string]> =
  new Map([
    ["x86_64", ["amd64"]],
    ["x86-64", ["amd64"]],
    ["aarch64", ["arm64"]],
    ["i386", ["386"]],
    ["i686", ["386"]],
    ["armhf", ["arm", "v7"]],
    ["armel", ["arm", "v6"]],
  ]);

/** Node's `process.arch` where it differs from GOARCH. */
const machineArchitectures: ReadonlyMap<string, readonly [architecture: string, variant?: string]> =
  new Map([
    ["x64", ["amd64"]],
    ["ia32", ["386"]],
    ["arm64", ["arm64", "v8"]],
    ["arm", ["arm", "v7"]],
    ["ppc64", [endianness() === "LE" ? "ppc64le" : "ppc64"]],
    ["mipsel", ["mipsle"]],
  ]);

/** What an architecture means when nobody says which variant. */
const impliedVariants: ReadonlyMap<string, string> = new Map([
  ["amd64", "v1"],
  ["arm64", "v8"],
  ["arm", "v7"],
]);

/**
 * Parses `os/arch[/variant]`; aliases such as `x86_64` become the word of the OCI image spec.
 *
 * @throws LarderError `usage`
 */
export function parsePlatform(text: string): Platform {
  const parts = text.toLowerCase().split("/");
  const [os, architecture, variant] = parts;
  const wellFormed =
    parts.length <= 3 && parts.every((part) => /^[a-z0-9][a-z0-9._-]*$/.test(part));
  if (!wellFormed || os === undefined || architecture === undefined) {
    throw new LarderError("usage", {
      what: `${JSON.stringify(text)} is not a platform`,
      why: "it is not of the form os/arch or os/arch/variant",
      todo: "write it like linux/amd64 or linux/arm/v7",
    });
  }
  return canonical({ os, architecture, ...(variant === undefined ? {} : { variant }) });
}

/** `os/arch` or `os/arch/variant`. */
export function formatPlatform(platform: Platform): string {
  const variant = platform.variant === undefined ? "" : `/${platform.variant}`;
  return `${platform.os}/${platform.architecture}${variant}`;
}

/** The platform of this machine; parameters as in `process.platform` and `process.arch`. */
export function machinePlatform(
  os: string = process.platform,
  arch: string = process.arch,
): Platform {
  const [architecture, variant] = machineArchitectures.get(arch) ?? [arch];
  return {
    os: os === "win32" ? "windows" : os,
    architecture,
    ...(variant === undefined ? {} : { variant }),
  };
}

/**
 * Whether what was built for `have` is what `want` asks for. Operating system and architecture
 * must be equal; a variant that `have` names must be the wanted one. `arm64` is `arm64/v8`.
 */
export function platformMatches(want: Platform, have: Platform): boolean {
  const wanted = canonical(want);
  const had = canonical(have);
  if (wanted.os !== had.os || wanted.architecture !== had.architecture) return false;
  return namesBaseline(had) || effectiveVariant(wanted) === effectiveVariant(had);
}

/**
 * For sorting what `platformMatches` accepted: negative when `a` fits `want` better than `b`, that
 * is when `a` is of the very variant and `b` does not say; 0 when both fit as well.
 */
export function comparePlatforms(want: Platform, a: Platform, b: Platform): number {
  return distance(want, a) - distance(want, b);
}

function distance(want: Platform, have: Platform): number {
  const wanted = canonical(want);
  const had = canonical(have);
  if (effectiveVariant(wanted) !== effectiveVariant(had)) return 2;
  // 32-bit arm without a variant may be any of them, so one that says v7 is the surer choice.
  return had.architecture === "arm" && had.variant === undefined ? 1 : 0;
}

/** No variant, or the one that every machine of the architecture can run. */
function namesBaseline({ architecture, variant }: Platform): boolean {
  if (variant === undefined) return true;
  return architecture !== "arm" && variant === impliedVariants.get(architecture);
}

function effectiveVariant({ architecture, variant }: Platform): string | undefined {
  return variant ?? impliedVariants.get(architecture);
}

function canonical(platform: Platform): Platform {
  const os = platform.os.toLowerCase();
  const written = platform.architecture.toLowerCase();
  const [architecture, implied] = architectureAliases.get(written) ?? [written];
  const said =
    platform.variant === undefined || platform.variant === "" ? implied : platform.variant;
  const variant = said === undefined ? undefined : canonicalVariant(said);
  return { os, architecture, ...(variant === undefined ? {} : { variant }) };
}

/** Some builders write `7` or `V7` for `v7`. */
function canonicalVariant(text: string): string {
  const lower = text.toLowerCase();
  return /^[0-9]/.test(lower) ? `v${lower}` : lower;
}
