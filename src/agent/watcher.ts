import * as fs from "node:fs";

import { isName } from "../cache/names.ts";
import { hasCode, LarderError } from "../errors.ts";
import { systemFailure } from "../image/disk-error.ts";
import type { Log } from "../telemetry/log.ts";
import { DirectoryWatch, type StartWatching } from "./directory-watch.ts";
import { PendingEvents, type CacheEvent } from "./pending-events.ts";
import type { FileWatchState } from "./series.ts";
import { WatchTroubles } from "./watch-troubles.ts";

export type { CacheEvent };

export interface CacheWatcherOptions {
  /**
   * Told of what happens, equal events of one moment as one, and of each directory whose watch has just
   * begun: what happened to it before was not seen.
   */
  readonly onEvent: (event: CacheEvent) => void;
  /** A watch that worked ended by itself: from now on events may be missing. */
  readonly onDeath: (error: LarderError) => void;
  readonly log: Pick<Log, "info" | "warn">;
  /** Default Node's fs.watch. */
  readonly watch?: StartWatching;
}

/** Whether events come in from one directory. */
export interface WatchedDirectory {
  readonly path: string;
  /** Undefined for the cache path itself. */
  readonly name: string | undefined;
  readonly state: FileWatchState;
}

export type WatchReport = readonly WatchedDirectory[];

/** A directory that is to be watched. */
interface Target {
  readonly path: string;
  readonly name: string | undefined;
  readonly directory: string;
  watch?: DirectoryWatch | undefined;
  /** It had an event of its own: its watch may have ended, so another is begun at the next adjustment. */
  uncertain: boolean;
}

/**
 * Watches cache paths and the resources' directories in them, each on its own, for events of the file
 * system. What Larder makes for itself (hidden entries) and what happens to flat files is passed over.
 */
export class CacheWatcher {
  readonly #options: CacheWatcherOptions;
  readonly #start: StartWatching;
  readonly #troubles: WatchTroubles;
  readonly #pending: PendingEvents;
  readonly #targets = new Map<string, Target>();
  #closed = false;

  constructor(options: CacheWatcherOptions) {
    this.#options = options;
    this.#start = options.watch ?? ((path) => fs.watch(path));
    this.#troubles = new WatchTroubles(options.log);
    this.#pending = new PendingEvents(options.onEvent, () => {
      this.#tellAll();
    });
  }

  /**
   * Watches exactly these from now on: what is not there yet, was replaced, or could not be watched is
   * tried (again). Throws nothing: what cannot be watched is logged, once, and reported.
   *
   * @param wanted cache path to names of the resources' directories in it
   */
  adjust(wanted: ReadonlyMap<string, ReadonlySet<string>>): WatchReport {
    if (this.#closed) return [];
    const keys = this.#take(wanted);
    for (const [key, target] of this.#targets) {
      if (keys.has(key)) continue;
      target.watch?.close();
      this.#targets.delete(key);
    }
    const failures = new Map<string, LarderError>();
    const report = [...this.#targets.values()].map((target) => ({
      path: target.path,
      name: target.name,
      state: this.#refresh(target, failures),
    }));
    const open = [...this.#targets.values()].filter(({ watch }) => watch !== undefined);
    this.#troubles.now(failures, new Set(open.map(({ directory }) => directory)));
    return report;
  }

  /** Ends every watch; nothing is told any more. */
  close(): void {
    this.#closed = true;
    this.#pending.clear();
    for (const { watch } of this.#targets.values()) watch?.close();
    this.#targets.clear();
  }

  /** Makes a target of what is none yet; the keys of all that is wanted. */
  #take(wanted: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
    const keys = new Set<string>();
    for (const [path, names] of wanted) {
      for (const name of [undefined, ...names]) {
        const key = JSON.stringify([path, name]);
        const directory = name === undefined ? path : `${path}/${name}`;
        keys.add(key);
        if (this.#targets.has(key)) continue;
        this.#targets.set(key, { path, name, directory, uncertain: false });
      }
    }
    return keys;
  }

  #refresh(target: Target, failures: Map<string, LarderError>): FileWatchState {
    const before = target.watch;
    if (before !== undefined && !target.uncertain && before.isCurrent()) return "open";
    target.uncertain = false;
    target.watch = undefined;
    try {
      target.watch = this.#begin(target);
      this.#pending.add(eventOf(target));
      return "open";
    } catch (error) {
      if (!(error instanceof LarderError)) throw error;
      if (isAbsent(target, error)) return "absent";
      failures.set(target.directory, error);
      return "failed";
    } finally {
      // Last, so that of a directory that is the same still no event is missed.
      before?.close();
    }
  }

  #begin(target: Target): DirectoryWatch {
    return DirectoryWatch.start(target.directory, this.#start, {
      onEntry: (entry, type) => {
        this.#onEntry(target, entry, type);
      },
      onSelf: () => {
        this.#onSelf(target);
      },
      onError: (error) => {
        this.#onError(target, error);
      },
    });
  }

  #onEntry(target: Target, entry: string | undefined, type: "rename" | "change"): void {
    if (target.name !== undefined || entry === undefined) {
      this.#pending.add(eventOf(target, entry));
    } else if (type === "rename" && isName(entry)) {
      // A change in a cache path is a flat file's; what is hidden, or no resource's name, Larder's own.
      this.#pending.add({ path: target.path, name: entry });
    }
  }

  #onSelf(target: Target): void {
    target.uncertain = true;
    if (target.watch?.isCurrent() === false) {
      // It went elsewhere, and what happens to it there is nobody's concern.
      target.watch.close();
      target.watch = undefined;
    }
    this.#pending.add(eventOf(target));
  }

  #onError(target: Target, error: Error): void {
    target.watch?.close();
    target.watch = undefined;
    const why = systemFailure(`cannot watch ${target.directory} any more`, error, {});
    this.#options.onDeath(why);
  }

  /** Events were lost: anything may have happened anywhere. */
  #tellAll(): void {
    for (const target of this.#targets.values()) {
      if (target.watch !== undefined) this.#options.onEvent(eventOf(target));
    }
  }
}

function eventOf({ path, name }: Target, file?: string): CacheEvent {
  return {
    path,
    ...(name === undefined ? {} : { name }),
    ...(file === undefined ? {} : { file }),
  };
}

/** A file or a link under a resource's name is a matter of the cache path: nothing is in it to watch. */
function isAbsent({ name }: Target, { cause }: LarderError): boolean {
  return hasCode(cause, "ENOENT") || (name !== undefined && hasCode(cause, "ENOTDIR", "ELOOP"));
}
