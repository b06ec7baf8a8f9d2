import type { LarderError } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import { InotifyLimit } from "./directory-watch.ts";

/** What cannot be watched, said once when it begins and once when it is watched after all. */
export class WatchTroubles {
  readonly #log: Pick<Log, "info" | "warn">;
  #directories: ReadonlySet<string> = new Set<string>();
  #limits: ReadonlySet<string> = new Set<string>();

  constructor(log: Pick<Log, "info" | "warn">) {
    this.#log = log;
  }

  /**
   * @param failures directory to why it cannot be watched, for all of which that is so now
   * @param open the directories that are watched now
   */
  now(failures: ReadonlyMap<string, LarderError>, open: ReadonlySet<string>): void {
    const limits = new Map<string, InotifyLimit>();
    const directories = new Map<
      string,
      { readonly directory: string; readonly error: LarderError }
    >();
    for (const [directory, error] of failures) {
      if (!(error instanceof InotifyLimit)) directories.set(directory, { directory, error });
      else if (!limits.has(error.limit)) limits.set(error.limit, error);
    }
    this.#tellOfLimits(limits);
    this.#tellOfDirectories(directories, open);
  }

  /** A limit is the whole process's, so it is told once for all directories. */
  #tellOfLimits(limits: ReadonlyMap<string, InotifyLimit>): void {
    for (const [limit, error] of limits) {
      if (!this.#limits.has(limit)) this.#log.warn("inotify is used up", { limit, error });
    }
    for (const limit of this.#limits) {
      if (!limits.has(limit)) this.#log.info("inotify has room again", { limit });
    }
    this.#limits = new Set(limits.keys());
  }

  #tellOfDirectories(
    troubles: ReadonlyMap<string, { readonly directory: string; readonly error: LarderError }>,
    open: ReadonlySet<string>,
  ): void {
    for (const [directory, trouble] of troubles) {
      if (!this.#directories.has(directory)) this.#log.warn("cannot watch a directory", trouble);
    }
    for (const directory of this.#directories) {
      if (open.has(directory)) this.#log.info("a directory is watched again", { directory });
    }
    this.#directories = new Set(troubles.keys());
  }
}
