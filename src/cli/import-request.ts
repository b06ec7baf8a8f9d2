import { basename } from "node:path";

import { checkCachePath, checkName } from "../cache/names.ts";
import type { MinFree } from "../cache/space.ts";
import { LarderError } from "../errors.ts";
import { machinePlatform, parsePlatform, type Platform } from "../registry/platform.ts";
import { parseReference, type Reference } from "../registry/reference.ts";
import type { ImportGiven } from "./import-options.ts";
import { parseMinFree } from "./min-free.ts";
import { parseAccess, type RegistryAccess } from "./registry-access.ts";
import { sourceOf } from "./source.ts";

/** What to read, and what of it the sentinel records. */
export type Origin =
  | { readonly kind: "reference"; readonly reference: Reference; readonly source: string }
  | {
      readonly kind: "archive";
      readonly path: string;
      /** The archive's file name. */
      readonly archive: string;
      /** The reference that it stands for. */
      readonly source: string | undefined;
    };

/** A command line of `larder import`, checked once and for all. */
export interface ImportRequest {
  readonly name: string;
  readonly cachePath: string;
  readonly origin: Origin;
  readonly platform: Platform;
  readonly minFree: MinFree;
  readonly force: boolean;
  readonly access: RegistryAccess;
}

/** @throws LarderError `usage` or `reference`, before anything is read or asked */
export function parseImport(given: ImportGiven, text: string): ImportRequest {
  return {
    name: checkName(given.name),
    cachePath: checkCachePath(given["cache-path"]),
    origin: originOf(text, given.source),
    platform: given.platform === undefined ? machinePlatform() : parsePlatform(given.platform),
    minFree: parseMinFree(given["min-free"]),
    force: given.force,
    access: parseAccess(given),
  };
}

function originOf(text: string, standsFor: string | undefined): Origin {
  const source = sourceOf(text);
  if (standsFor !== undefined) parseReference(standsFor);
  if (source.kind === "archive") {
    const { path } = source;
    return { kind: "archive", path, archive: basename(path), source: standsFor };
  }
  if (standsFor !== undefined) {
    throw new LarderError("usage", {
      what: `--source says what an archive stands for, and ${text} is a reference`,
      why: "a path starts with / or ., or ends in .tar, .tar.gz, .tgz or .tar.zst",
      todo: "leave out --source (or LARDER_SOURCE), or write the path as ./path",
    });
  }
  return { kind: "reference", reference: parseReference(text), source: text };
}
