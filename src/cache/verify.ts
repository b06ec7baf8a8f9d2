import { interrupted, LarderError } from "../errors.ts";
import { openCachePath } from "./cache-path.ts";
import { findDamage, type Damage } from "./damage.ts";
import type { Directory } from "./directory.ts";
import { diskError, onDisk } from "./disk-error.ts";
import { parseHidden } from "./leftover.ts";
import { isName } from "./names.ts";
import type { Sentinel } from "./sentinel.ts";
import { openStill, readSentinel, readState } from "./state.ts";
import {
  verdictOf,
  withFindings,
  type Findings,
  type Unreadable,
  type Verdict,
} from "./verdict.ts";

export interface VerifyOptions {
  /** The one resource to look at. Default: every one that a directory stands for, or a run's leftover. */
  readonly name?: string;
  /** Read every file and compare it with its checksum. */
  readonly deep: boolean;
  readonly signal: AbortSignal;
  /** Told of each file before it is read. */
  readonly onFile?: (name: string, file: string) => void;
}

/**
 * Looks at a whole cache path, or one directory of it. Reads only; needs no lock. What cannot be
 * read is a verdict, and keeps nothing else from being looked at.
 *
 * @throws LarderError `cache-path`; `disk` where the cache path itself cannot be listed;
 *   `interrupted`
 */
export async function verifyCache(
  cachePath: string,
  options: VerifyOptions,
): Promise<readonly Verdict[]> {
  const what = `cannot verify ${cachePath}`;
  using parent = openCachePath(cachePath);
  const verdicts: Verdict[] = [];
  try {
    const names = options.name === undefined ? namesIn(parent, what) : [options.name];
    for (const name of names) {
      options.signal.throwIfAborted();
      verdicts.push(await judgeOrExplain(parent, name, options));
    }
    return verdicts;
  } catch (error) {
    if (options.signal.aborted) throw interrupted(what, error);
    throw diskError(what, error);
  }
}

/**
 * A `lost+found`, which root alone may look into, is none of them. A name of which only a hidden
 * directory is there is one: the power went during a swap, and someone has to be told.
 */
function namesIn(parent: Directory, what: string): readonly string[] {
  const names = onDisk(what, () => parent.list()).flatMap((entry) => {
    if (!isName(entry)) return parseHidden(entry)?.name ?? [];
    return mayBeDirectory(parent, entry) ? [entry] : [];
  });
  return [...new Set(names)].sort();
}

/** What cannot even be looked up is told of when its turn comes. */
function mayBeDirectory(parent: Directory, entry: string): boolean {
  try {
    return parent.lookUp(entry)?.isDirectory() === true;
  } catch {
    return true;
  }
}

async function judgeOrExplain(
  parent: Directory,
  name: string,
  options: VerifyOptions,
): Promise<Verdict> {
  try {
    return await judge(parent, name, options);
  } catch (error) {
    return { name, state: "unreadable", why: reasonOf(error, options.signal) };
  }
}

async function judge(parent: Directory, name: string, options: VerifyOptions): Promise<Verdict> {
  const state = await readState(parent, name, {}, options.signal);
  const verdict = state.kind === "absent" ? absent(parent, name) : verdictOf(name, state);
  if (!options.deep || !("sentinel" in state) || state.sentinel === undefined) return verdict;
  const findings = await readUnder(parent, name, options);
  return findings === undefined ? judge(parent, name, options) : withFindings(verdict, findings);
}

/** @throws what is not the disk's: a signal, or a fault of Larder's */
function reasonOf(error: unknown, signal: AbortSignal): string {
  if (!signal.aborted && error instanceof LarderError && error.code === "disk")
    return error.message;
  throw error;
}

/** Undefined when somebody put other content in place meanwhile: what was found is of the past. */
async function readUnder(
  parent: Directory,
  name: string,
  options: VerifyOptions,
): Promise<Findings | undefined> {
  const what = `cannot look at ${parent.path}/${name}`;
  const directory = onDisk(what, () => openStill(parent, name));
  if (directory === undefined) return undefined;
  using _ = directory;
  // Of the very directory that is read: the sentinel looked at before may be another's by now.
  const sentinel = onDisk(what, () => readSentinel(directory))?.sentinel;
  if (sentinel === undefined) return undefined;
  const findings = await readFiles(directory, name, sentinel, options);
  const sound = findings.damaged.length + findings.unreadable.length === 0;
  return sound || onDisk(what, () => parent.holds(name, directory)) ? findings : undefined;
}

async function readFiles(
  directory: Directory,
  name: string,
  sentinel: Sentinel,
  { signal, onFile }: VerifyOptions,
): Promise<Findings> {
  const damaged: Damage[] = [];
  const unreadable: Unreadable[] = [];
  for (const file of sentinel.files) {
    onFile?.(name, file);
    try {
      const damage = await findDamage(directory, file, sentinel, signal);
      if (damage !== undefined) damaged.push(damage);
    } catch (error) {
      unreadable.push({ name: file, why: reasonOf(error, signal) });
    }
  }
  return { damaged, unreadable };
}

function absent(parent: Directory, name: string): Verdict {
  const entries = onDisk(`cannot list ${parent.path}`, () => parent.list());
  const run = entries.find((entry) => parseHidden(entry)?.name === name);
  const why =
    run === undefined
      ? "nothing stands there"
      : `nothing stands there yet: ${run} is of a run that is under way, or that was cut short and that the next import of this name goes on with`;
  return { name, state: "absent", why };
}
