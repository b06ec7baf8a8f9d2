import * as fs from "node:fs";

import { hasCode } from "../errors.ts";
import type { Digest } from "../registry/digest.ts";
import { normalise } from "../registry/reference.ts";
import { kindOf } from "../image/file-kind.ts";
import { Directory } from "./directory.ts";
import { onDisk } from "./disk-error.ts";
import { maxSentinelBytes, parseSentinel, sentinelName, type Sentinel } from "./sentinel.ts";
import type { Parsed } from "./sentinel.ts";
import { Slices } from "./slices.ts";

/** What shall stand under a name: a reference's source, or an archive's digest. */
export interface Want {
  readonly source?: string;
  readonly digest?: Digest;
}

/** What stands under a resource's name. */
export type State =
  | { readonly kind: "absent" }
  /** Not Larder's. `what` as in `a directory without a sentinel`. */
  | { readonly kind: "foreign"; readonly what: string }
  | { readonly kind: "incomplete"; readonly why: string; readonly sentinel?: Sentinel }
  | { readonly kind: "stale"; readonly why: string; readonly sentinel: Sentinel }
  | { readonly kind: "complete"; readonly sentinel: Sentinel };

/**
 * Looks at what stands under a name. Reads only.
 *
 * @throws LarderError `disk` where the file system fails: that is never a state
 */
export async function readState(
  parent: Directory,
  name: string,
  want: Want,
  signal?: AbortSignal,
): Promise<State> {
  for (;;) {
    const look = await lookOnce(parent, name, want, signal);
    if (look !== undefined) return look;
  }
}

/** The sentinel of a directory; undefined where there is none. Throws the system's errors. */
export function readSentinel(directory: Directory): (Parsed & { bytes?: Buffer }) | undefined {
  const found = directory.lookUp(sentinelName);
  if (found === undefined) return undefined;
  if (!found.isFile()) return { problem: `is ${kindOf(found)}` };
  if (found.size > maxSentinelBytes)
    return { problem: `has ${found.size} bytes, which is too long` };
  const bytes = readWhole(directory.at(sentinelName));
  return bytes === undefined ? undefined : { ...parseSentinel(bytes), bytes };
}

/** Opens a directory that was there just now; undefined when it is not any more. */
export function openStill(parent: Directory, name: string): Directory | undefined {
  return unlessGone(() => parent.open(name));
}

/** Why a directory does not hold all that its sentinel lists, or undefined where it does. */
export async function findMissing(
  directory: Directory,
  sentinel: Sentinel,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const slices = new Slices(signal);
  for (const file of sentinel.files) {
    const problem = fileProblem(directory.lookUp(file), sentinel.sizes?.get(file));
    if (problem !== undefined) return `${JSON.stringify(file)} ${problem}`;
    await slices.pause();
  }
  return undefined;
}

/** Undefined when what was looked at has been swapped for something else meanwhile. */
async function lookOnce(
  parent: Directory,
  name: string,
  want: Want,
  signal: AbortSignal | undefined,
): Promise<State | undefined> {
  const what = `cannot look at ${parent.path}/${name}`;
  const found = onDisk(what, () => parent.lookUp(name));
  if (found === undefined) return { kind: "absent" };
  if (!found.isDirectory()) return { kind: "foreign", what: kindOf(found) };
  const directory = onDisk(what, () => openStill(parent, name));
  if (directory === undefined) return undefined;
  using _ = directory;
  const state = await stateOf(directory, want, what, signal);
  const settled = state.kind === "complete" || onDisk(what, () => parent.holds(name, directory));
  return settled ? state : undefined;
}

async function stateOf(
  directory: Directory,
  want: Want,
  what: string,
  signal: AbortSignal | undefined,
): Promise<State> {
  const read = onDisk(what, () => readSentinel(directory));
  if (read === undefined) return { kind: "foreign", what: "a directory without a sentinel" };
  if (read.sentinel === undefined) {
    return { kind: "incomplete", why: `its sentinel ${read.problem}` };
  }
  const { sentinel } = read;
  const missing = await findMissing(directory, sentinel, signal).catch((error: unknown) =>
    onDisk(what, () => {
      throw error;
    }),
  );
  if (missing !== undefined) return { kind: "incomplete", why: missing, sentinel };
  const why = staleness(sentinel, want);
  return why === undefined ? { kind: "complete", sentinel } : { kind: "stale", why, sentinel };
}

function fileProblem(found: fs.Stats | undefined, size: number | undefined): string | undefined {
  if (found === undefined) return "is missing";
  if (!found.isFile()) return `is ${kindOf(found)}`;
  if (size === undefined || found.size === size) return undefined;
  return `has ${found.size} bytes instead of ${size}`;
}

function staleness(sentinel: Sentinel, want: Want): string | undefined {
  const { source, digest } = sentinel;
  if (want.digest !== undefined && want.digest !== digest) {
    return `it holds ${digest}, not ${want.digest}`;
  }
  if (want.source === undefined || source === undefined) return undefined;
  return sameSource(source, want.source) ? undefined : `it was filled from ${source}`;
}

function sameSource(had: string, wanted: string): boolean {
  if (had === wanted) return true;
  try {
    return normalise(had) === normalise(wanted);
  } catch {
    // One of the two is no reference, so they cannot name the same thing.
    return false;
  }
}

/** Not through a link, and without waiting where a pipe was put in its place; undefined if gone. */
function readWhole(path: string): Buffer | undefined {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  const fd = unlessGone(() => fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (fd === undefined) return undefined;
  try {
    return fs.readFileSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

function unlessGone<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}
