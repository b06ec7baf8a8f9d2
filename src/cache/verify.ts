import type { Digest } from "../registry/digest.ts";
import { interrupted } from "../errors.ts";
import { openCachePath } from "./cache-path.ts";
import type { Directory } from "./directory.ts";
import { diskError, onDisk } from "./disk-error.ts";
import { parseHidden } from "./leftover.ts";
import { isName } from "./names.ts";
import type { Sentinel } from "./sentinel.ts";
import { openStill, readSentinel, readState, type State } from "./state.ts";
import { sumLike } from "./sum.ts";
import { findDamage, type Damage } from "./damage.ts";

export interface VerifyOptions {
  /** The one resource to look at. Default: every one that a directory stands for, or a run's leftover. */
  readonly name?: string;
  /** Read every file and compare it with its checksum. */
  readonly deep: boolean;
  readonly signal: AbortSignal;
  /** Told of each file before it is read. */
  readonly onFile?: (name: string, file: string) => void;
}

/** What stands under one name, and whether it is what its sentinel says. */
export interface Verdict {
  readonly name: string;
  /** A directory with a damaged file is incomplete. */
  readonly state: State["kind"];
  /** Why it is not complete. */
  readonly why?: string;
  readonly digest?: Digest;
  readonly source?: string;
  /** File name of the archive that it was filled from. */
  readonly archive?: string;
  readonly owner?: string;
  /** How many files the sentinel lists. */
  readonly files?: number;
  /** Of all files together; undefined where the sentinel does not say. */
  readonly bytes?: number;
  readonly damaged?: readonly Damage[];
  /** Files that no known checksum speaks for, so only their kind and size were looked at. */
  readonly unsummed?: number;
}

/**
 * Looks at a whole cache path, or one directory of it. Reads only; needs no lock.
 *
 * @throws LarderError `cache-path`, `disk`, `interrupted`
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
      verdicts.push(await judge(parent, name, options));
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
  const names = onDisk(what, () =>
    parent.list().flatMap((entry) => {
      if (!isName(entry)) return parseHidden(entry)?.name ?? [];
      return parent.lookUp(entry)?.isDirectory() === true ? [entry] : [];
    }),
  );
  return [...new Set(names)].sort();
}

async function judge(parent: Directory, name: string, options: VerifyOptions): Promise<Verdict> {
  const state = await readState(parent, name, {}, options.signal);
  const verdict = state.kind === "absent" ? absent(parent, name) : verdictOf(name, state);
  if (!options.deep || !("sentinel" in state) || state.sentinel === undefined) return verdict;
  const damaged = await damageUnder(parent, name, options);
  if (damaged === undefined) return judge(parent, name, options);
  const [first] = damaged;
  if (first === undefined) return verdict;
  const more = damaged.length === 1 ? "" : `, and ${damaged.length - 1} more like it`;
  const why = `${JSON.stringify(first.name)} should be ${first.expected} and is ${first.actual}${more}`;
  return { ...verdict, state: "incomplete", why, damaged };
}

/** Undefined when somebody put other content in place meanwhile: what was found is of the past. */
async function damageUnder(
  parent: Directory,
  name: string,
  options: VerifyOptions,
): Promise<readonly Damage[] | undefined> {
  const what = `cannot look at ${parent.path}/${name}`;
  const directory = onDisk(what, () => openStill(parent, name));
  if (directory === undefined) return undefined;
  using _ = directory;
  // Of the very directory that is read: the sentinel looked at before may be another's by now.
  const sentinel = onDisk(what, () => readSentinel(directory))?.sentinel;
  if (sentinel === undefined) return undefined;
  const damaged = await damageIn(directory, name, sentinel, options);
  return damaged.length === 0 || parent.holds(name, directory) ? damaged : undefined;
}

async function damageIn(
  directory: Directory,
  name: string,
  sentinel: Sentinel,
  { signal, onFile }: VerifyOptions,
): Promise<readonly Damage[]> {
  const damaged: Damage[] = [];
  for (const file of sentinel.files) {
    onFile?.(name, file);
    const damage = await findDamage(directory, file, sentinel, signal);
    if (damage !== undefined) damaged.push(damage);
  }
  return damaged;
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

function verdictOf(name: string, state: Exclude<State, { kind: "absent" }>): Verdict {
  if (state.kind === "foreign") return { name, state: "foreign", why: `it is ${state.what}` };
  const facts = factsOf(state.sentinel);
  return state.kind === "complete"
    ? { name, state: "complete", ...facts }
    : { name, state: state.kind, why: state.why, ...facts };
}

function factsOf(sentinel: Sentinel | undefined): Partial<Verdict> {
  if (sentinel === undefined) return {};
  const { digest, source, archive, owner, files, sizes, sums } = sentinel;
  const known = (file: string): boolean => sumLike(sums?.get(file) ?? "") !== undefined;
  return {
    digest,
    ...(source === undefined ? {} : { source }),
    ...(archive === undefined ? {} : { archive }),
    ...(owner === undefined ? {} : { owner }),
    files: files.length,
    ...(sizes === undefined ? {} : { bytes: sizes.values().reduce((sum, size) => sum + size, 0) }),
    unsummed: files.filter((file) => !known(file)).length,
  };
}
