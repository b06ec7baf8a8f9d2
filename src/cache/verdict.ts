import type { Digest } from "../registry/digest.ts";
import type { Damage } from "./damage.ts";
import type { Sentinel } from "./sentinel.ts";
import type { State } from "./state.ts";
import { sumLike } from "./sum.ts";

/** A file that the disk, or its mode, keeps from being read. */
export interface Unreadable {
  readonly name: string;
  /** The whole message: `cannot read <path>: <why>: <what to do>`. */
  readonly why: string;
}

/** What stands under one name, and whether it is what its sentinel says. */
export interface Verdict {
  readonly name: string;
  /**
   * A directory with a damaged file is incomplete. One that cannot be looked at, or that has a file
   * which cannot be read and none that is damaged, is unreadable: nobody can say what it is.
   */
  readonly state: State["kind"] | "unreadable";
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
  readonly unreadable?: readonly Unreadable[];
  /** Files that no known checksum speaks for, so only their kind and size were looked at. */
  readonly unsummed?: number;
}

/** What reading the files of one directory brought to light. */
export interface Findings {
  readonly damaged: readonly Damage[];
  readonly unreadable: readonly Unreadable[];
}

/** What a look at kinds and sizes comes to. */
export function verdictOf(name: string, state: Exclude<State, { kind: "absent" }>): Verdict {
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

/** A verdict with what reading every file has added to it. */
export function withFindings(verdict: Verdict, { damaged, unreadable }: Findings): Verdict {
  const lists = {
    ...(damaged.length === 0 ? {} : { damaged }),
    ...(unreadable.length === 0 ? {} : { unreadable }),
  };
  const more = (count: number): string => (count === 1 ? "" : `, and ${count - 1} more like it`);
  const [first] = damaged;
  if (first !== undefined) {
    const why = `${JSON.stringify(first.name)} should be ${first.expected} and is ${first.actual}${more(damaged.length)}`;
    return { ...verdict, state: "incomplete", why, ...lists };
  }
  const [file] = unreadable;
  // What is incomplete without a byte being read stays so.
  if (file === undefined || verdict.state !== "complete") return { ...verdict, ...lists };
  return {
    ...verdict,
    state: "unreadable",
    why: `${file.why}${more(unreadable.length)}`,
    ...lists,
  };
}
