import * as fs from "node:fs";

import { InsufficientDiskError } from "../errors.ts";
import { formatBytes } from "./amount.ts";
import type { Directory } from "./directory.ts";

/** Space to leave free: bytes, or percent of the whole file system. */
export type MinFree = { readonly bytes: number } | { readonly percent: number };

/** The numbers of a file system, in bytes. */
export interface Space {
  /** What a process without privileges can still write. */
  readonly free: number;
  readonly total: number;
}

export function spaceOf(directory: Directory): Space {
  const { bavail, blocks, frsize, bsize } = fs.statfsSync(directory.self);
  // Blocks are counted in fragments, which all local file systems make as large as their blocks.
  const unit = frsize > 0 ? frsize : bsize;
  return { free: bavail * unit, total: blocks * unit };
}

/** The reserve in bytes. */
export function reserveOf(minFree: MinFree | undefined, total: number): number {
  if (minFree === undefined) return 0;
  return "bytes" in minFree ? minFree.bytes : Math.ceil((total * minFree.percent) / 100);
}

/**
 * Refuses what cannot fit.
 *
 * @param needed bytes that are still to be written, at least
 * @throws InsufficientDiskError saying how much is missing at least
 */
export function checkSpace(
  what: string,
  where: string,
  space: Space,
  needed: number,
  minFree: MinFree | undefined,
): void {
  const reserve = reserveOf(minFree, space.total);
  const missing = needed + reserve - space.free;
  if (missing <= 0) return;
  const kept = reserve > 0 ? ` and ${formatBytes(reserve)} shall stay free` : "";
  throw new InsufficientDiskError(missing, {
    what,
    why: `${formatBytes(space.free)} are free below ${where}, at least ${formatBytes(needed)} more are needed${kept}`,
    todo: `free at least ${formatBytes(missing)} there${reserve > 0 ? ", or ask for a smaller reserve" : ""}`,
    retryable: true,
  });
}
