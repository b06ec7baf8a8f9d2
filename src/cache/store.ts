import { interrupted, LarderError } from "../errors.ts";
import type { Digest } from "../registry/digest.ts";
import type { Image } from "../registry/image.ts";
import { readAgentState, writeAgentState } from "./agent-state.ts";
import { checkWritable, openCachePath } from "./cache-path.ts";
import {
  collect,
  collectable,
  sweep,
  sweepDead,
  whileHeld,
  type MayRemove,
  type Removed,
} from "./collect.ts";
import { findDamageAmong } from "./damage.ts";
import type { Directory } from "./directory.ts";
import { diskError, onDisk } from "./disk-error.ts";
import { pull, type PullOptions } from "./fill.ts";
import { foreignError } from "./foreign.ts";
import { parseHidden } from "./leftover.ts";
import { lock, tryLock } from "./lock.ts";
import type { Run } from "./place.ts";
import { checkCachePath, checkName } from "./names.ts";
import { adopting, rewriteSentinel, wouldChange, type Change } from "./rewrite-sentinel.ts";
import type { Sentinel } from "./sentinel.ts";
import { spaceOf, type Space } from "./space.ts";
import { readState, type State, type Want } from "./state.ts";

export interface FillOptions extends PullOptions {
  /** Fill again what is complete. Default false. */
  readonly force?: boolean | undefined;
  /**
   * Aborts some time after `signal`: what has not been removed by then is left to the next run of the
   * name, and the error says so. Default never.
   */
  readonly hurry?: AbortSignal | undefined;
  /** Told once when another run for the same name has to be waited for. */
  readonly onWait?: ((message: string) => void) | undefined;
}

export interface FillResult {
  /** `complete`: there was nothing to do. */
  readonly result: "complete" | "pulled";
  readonly sentinel: Sentinel;
  /** Of all files together. */
  readonly bytes: number;
}

/** One cache path. Nothing else writes below it. */
export class Store {
  /** In its one spelling. */
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /**
   * A cache path that is there; it is never created. Whether it can be written to is asked when
   * there is something to write: what is complete on a read-only disk is complete.
   *
   * @throws LarderError `usage` for a path that breaks the rules; `cache-path` for one that is
   *   missing, a file, or a link
   */
  static open(path: string): Promise<Store> {
    return new Promise((resolve) => {
      const store = new Store(checkCachePath(path));
      store.#open().close();
      resolve(store);
    });
  }

  /** @throws LarderError `usage`, `cache-path`, `disk` */
  async state(name: string, want: Want = {}, signal?: AbortSignal): Promise<State> {
    using parent = this.#open();
    return await readState(parent, checkName(name), want, signal);
  }

  /**
   * Makes a name complete: all or nothing, and nothing where it is complete already. Waits for
   * another run of the same name, then finds its work done.
   *
   * @param openImage called at most once, when the image is needed
   * @throws LarderError `foreign`, `cache-path`, `disk` (InsufficientDiskError where space is what is
   *   missing), `interrupted`, `usage`, and whatever the image's source throws
   */
  async fill(
    name: string,
    want: Want,
    openImage: (signal: AbortSignal) => Promise<Image>,
    options: FillOptions,
  ): Promise<FillResult> {
    checkName(name);
    const { signal } = options;
    const what = `cannot fill ${this.path}/${name}`;
    using parent = this.#open();
    try {
      signal.throwIfAborted();
      const done = await this.#untouched(parent, name, want, options);
      if (done !== undefined) return done;
      checkWritable(parent);
      const run = await lock(parent, name, options);
      const work = () => fillHeld(parent, run, name, want, openImage, options);
      const filled = await held(run, work, options.hurry);
      this.#refuseMoved(parent, what);
      return filled;
    } catch (error) {
      const failure = diskError(what, error);
      // Told even then, since either may say that something was left behind.
      const told = ["disk", "interrupted"].includes(failure.code);
      throw signal.aborted && !told ? interrupted(what, error) : failure;
    }
  }

  /**
   * Makes a directory the agent's, whoever filled it; keys of its sentinel that Larder does not know
   * stay. False where there is nothing to adopt (no valid sentinel, or the agent's already), and
   * where another run holds the name: it is not waited for.
   *
   * @throws LarderError `disk`, `cache-path`, `interrupted`
   */
  async adopt(name: string, signal: AbortSignal): Promise<boolean> {
    return await this.#rewrite(name, adopting, signal);
  }

  /**
   * Records what a complete directory's reference named at the registry, where an older agent left
   * that out. False where something is recorded already, or the directory holds another image.
   *
   * @param digest of the image that the directory shall hold
   * @throws LarderError `disk`, `cache-path`, `interrupted`
   */
  async recordResolved(
    name: string,
    { digest, resolved }: { readonly digest: Digest; readonly resolved: Digest },
    signal: AbortSignal,
  ): Promise<boolean> {
    const change: Change = (sentinel) =>
      sentinel.resolved === undefined && sentinel.digest === digest ? { resolved } : undefined;
    return await this.#rewrite(name, change, signal);
  }

  /**
   * Directories with a valid sentinel that are the agent's, or nobody's: what collection is about.
   *
   * @throws LarderError `disk`, `cache-path`
   */
  collectable(): readonly string[] {
    using parent = this.#open();
    return collectable(parent);
  }

  /**
   * Reads listed files of a directory and compares them with their checksums, or with their sizes
   * where there are none. Undefined where nothing speaks against them, or nobody listed them.
   *
   * @param files undefined for all that are listed
   * @returns what is wrong with the first that differs: `"a.tar" should be ... and is ...`
   * @throws LarderError `disk`, `cache-path`; the signal's reason
   */
  async damage(
    name: string,
    files: readonly string[] | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    using parent = this.#open();
    return await findDamageAmong(parent, checkName(name), files, signal);
  }

  /** What the agent kept here, or undefined. @throws LarderError `disk`, `cache-path` */
  readAgentState(): Buffer | undefined {
    using parent = this.#open();
    return onDisk(`cannot read the agent's state below ${this.path}`, () => readAgentState(parent));
  }

  /** @throws LarderError `disk`, `cache-path` */
  async writeAgentState(text: string): Promise<void> {
    using parent = this.#open();
    try {
      await writeAgentState(parent, text);
    } catch (error) {
      throw diskError(`cannot keep the agent's state below ${this.path}`, error);
    }
  }

  /** Free and total bytes of what the cache path is on. @throws LarderError `disk`, `cache-path` */
  space(): Space {
    using parent = this.#open();
    return onDisk(`cannot look at ${this.path}`, () => spaceOf(parent));
  }

  /**
   * Sweeps, then removes the directories that are the agent's or nobody's and may go.
   *
   * @throws LarderError `disk`, `cache-path`
   */
  async collect(options: { readonly mayRemove: MayRemove }): Promise<readonly Removed[]> {
    using parent = this.#open();
    // What cannot be swept is told in the end: it keeps nothing else from being collected.
    const swept = await sweep(parent).catch((error: unknown) => diskError("cannot sweep", error));
    const collected = await collect(parent, options.mayRemove);
    if (swept instanceof Error) throw swept;
    return [...swept, ...collected];
  }

  /** Goes on where dead runs of a name, or of any, stopped; removes what they left. */
  async sweep(name?: string): Promise<readonly Removed[]> {
    using parent = this.#open();
    return await sweep(parent, name === undefined ? undefined : checkName(name));
  }

  async #rewrite(name: string, change: Change, signal: AbortSignal): Promise<boolean> {
    checkName(name);
    using parent = this.#open();
    if (!wouldChange(parent, name, change)) return false;
    checkWritable(parent);
    signal.throwIfAborted();
    const run = await tryLock(parent, name);
    if (run === undefined) return false;
    return await whileHeld(run, () => rewriteSentinel(parent, run, name, change));
  }

  /** Not kept open: what is mounted there may change, and must be free to be unmounted. */
  #open(): Directory {
    return openCachePath(this.path);
  }

  /** A disk that was mounted over the cache path meanwhile hides what was written below it. */
  #refuseMoved(parent: Directory, what: string): void {
    using now = this.#open();
    const [here, there] = [parent.stat(), now.stat()];
    if (here.ino === there.ino && here.dev === there.dev) return;
    throw new LarderError("cache-path", {
      what,
      why: "another directory took the place of the cache path meanwhile, and the files are in the former one",
      todo: "run this again once everything is mounted",
      retryable: true,
    });
  }

  /** What can be said without writing: undefined when a run is needed. */
  async #untouched(
    parent: Directory,
    name: string,
    want: Want,
    { force, signal }: FillOptions,
  ): Promise<FillResult | undefined> {
    const entries = onDisk(`cannot list ${this.path}`, () => parent.list());
    if (entries.some((entry) => parseHidden(entry)?.name === name)) return undefined;
    const state = await readState(parent, name, want, signal);
    if (state.kind === "foreign") throw foreignError(parent, name, state.what);
    return force === true ? undefined : completeResult(parent, name, state);
  }
}

async function fillHeld(
  parent: Directory,
  run: Run,
  name: string,
  want: Want,
  openImage: (signal: AbortSignal) => Promise<Image>,
  options: FillOptions,
): Promise<FillResult> {
  const { force, signal, hurry } = options;
  await sweepDead(parent, run, name, hurry);
  const state = await readState(parent, name, want, signal);
  if (state.kind === "foreign") throw foreignError(parent, name, state.what);
  const done = force === true ? undefined : completeResult(parent, name, state);
  if (done !== undefined) return done;
  const image = await openImage(signal);
  const sentinel = await pull(parent, run, name, image, options);
  return { result: "pulled", sentinel, bytes: bytesOf(sentinel) };
}

function completeResult(parent: Directory, name: string, state: State): FillResult | undefined {
  if (state.kind !== "complete") return undefined;
  const { sentinel } = state;
  // An older agent's sentinel has no sizes.
  const look = (file: string): number => parent.lookUp(`${name}/${file}`)?.size ?? 0;
  const bytes =
    sentinel.sizes === undefined
      ? sentinel.files.reduce((sum, file) => sum + look(file), 0)
      : bytesOf(sentinel);
  return { result: "complete", sentinel, bytes };
}

function bytesOf({ sizes }: Sentinel): number {
  return sizes?.values().reduce((sum, size) => sum + size, 0) ?? 0;
}

/** What a run leaves when its work is done is the next one's to sweep, and no failure of its own. */
async function held<T>(run: Run, work: () => Promise<T>, hurry?: AbortSignal): Promise<T> {
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await run.release(hurry);
    throw error;
  }
  await run.release(hurry).catch(() => {});
  return result;
}
