import * as fs from "node:fs";

import { Directory } from "../cache/directory.ts";
import { hasCode, LarderError, type SystemError } from "../errors.ts";
import { systemFailure, type Remedies } from "../image/disk-error.ts";

/** As much of Node's fs.FSWatcher as is used. */
export interface Watching {
  on(event: "change", listener: (type: string, entry: string | Buffer | null) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  close(): void;
}

export type StartWatching = (path: string) => Watching;

/** The kernel's bound on inotify is reached; which one. */
export class InotifyLimit extends LarderError {
  readonly limit: "max_user_instances" | "max_user_watches";

  constructor(path: string, cause: SystemError) {
    const limit = cause.code === "EMFILE" ? "max_user_instances" : "max_user_watches";
    const files = cause.code === "EMFILE" ? ", or the limit of open files (ulimit -n)" : "";
    super("disk", {
      what: `cannot watch ${path} for changes`,
      why: `all inotify ${limit === "max_user_instances" ? "instances" : "watches"} of user ${process.geteuid?.() ?? "unknown"} are in use (${cause.code})`,
      todo: `raise the node's limit (sysctl fs.inotify.${limit})${files}; until then only the resync finds and repairs damage`,
      cause,
      retryable: true,
    });
    this.limit = limit;
  }
}

export interface WatchListener {
  /** An entry was made, removed, renamed or changed; undefined where the system does not say which. */
  onEntry(entry: string | undefined, type: "rename" | "change"): void;
  /** The directory itself was moved, removed, unmounted, or has other permissions now. */
  onSelf(): void;
  onError(error: Error): void;
}

const handOver = "give the cache path to this user with 'larder prepare --uid'";

const remedies: Remedies = {
  EACCES: handOver,
  EPERM: handOver,
  ENOTDIR: "put a directory there, and no link to one",
};

/**
 * What Node reports as name of an entry when it is about the watched directory itself: the last part
 * of the path that it was given. No entry is called so.
 */
const self = ".";

/** Watches one directory, and that very one: what its path leads to may change. */
export class DirectoryWatch {
  readonly #path: string;
  readonly #identity: { readonly dev: number; readonly ino: number };
  readonly #watching: Watching;
  #open = true;

  private constructor(path: string, identity: fs.Stats, watching: Watching) {
    this.#path = path;
    this.#identity = { dev: identity.dev, ino: identity.ino };
    this.#watching = watching;
  }

  /**
   * Opens the directory, never through a link as last part, and watches what was opened.
   *
   * @throws LarderError `disk`, with the system's error as its cause; InotifyLimit
   */
  static start(path: string, start: StartWatching, listener: WatchListener): DirectoryWatch {
    try {
      using directory = Directory.open(path);
      const watch = new DirectoryWatch(
        path,
        directory.stat(),
        startOn(`${directory.self}/${self}`, path, start),
      );
      watch.#listen(listener);
      return watch;
    } catch (error) {
      throw systemFailure(`cannot watch ${path} for changes`, error, remedies, true);
    }
  }

  /** Whether the path leads to the watched directory still. */
  isCurrent(): boolean {
    try {
      const { dev, ino } = fs.lstatSync(this.#path);
      return dev === this.#identity.dev && ino === this.#identity.ino;
    } catch {
      return false;
    }
  }

  close(): void {
    this.#open = false;
    this.#watching.close();
  }

  #listen(listener: WatchListener): void {
    this.#watching.on("change", (type, entry) => {
      if (!this.#open) return;
      const name = entry?.toString();
      if (name === self) listener.onSelf();
      else listener.onEntry(name, type === "change" ? "change" : "rename");
    });
    this.#watching.on("error", (error) => {
      if (this.#open) listener.onError(error);
    });
  }
}

function startOn(handle: string, path: string, start: StartWatching): Watching {
  try {
    return start(handle);
  } catch (error) {
    if (hasCode(error, "EMFILE", "ENOSPC")) throw new InotifyLimit(path, error);
    throw error;
  }
}
