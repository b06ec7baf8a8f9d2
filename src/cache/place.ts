import * as fs from "node:fs";
import { createServer, type Server, type Socket } from "node:net";

import { hasCode, isSystemError } from "../errors.ts";
import { ownerFor, type Directory } from "./directory.ts";
import { diskError } from "./disk-error.ts";
import { parseHidden, type Hidden } from "./leftover.ts";
import { lockName, probe, type LiveRun } from "./probe.ts";
import { removeEntry } from "./remove.ts";
import { setAside } from "./swap.ts";

/** The one run of a name: while it is not released, no other process fills or repairs that name. */
export interface Run {
  /** The run's hidden directory; all that it makes goes in there. */
  readonly directory: Directory;
  readonly entry: string;
  /** Hidden directories of dead runs of the same name, as they were when the lock was taken. */
  readonly dead: readonly string[];
  /**
   * Removes the hidden directory, then lets the next run begin. Call once, on every path.
   *
   * @param hurry leaves what is still there to the next run once it aborts
   * @throws LarderError `disk`; `interrupted` where something is left
   */
  release(hurry?: AbortSignal): Promise<void>;
}

/** The other runs of a name: the live ones, lowest first, and the directories of the dead. */
async function lookAround(
  parent: Directory,
  own: Hidden,
): Promise<{ live: readonly LiveRun[]; dead: readonly string[] }> {
  const live: LiveRun[] = [];
  const dead: string[] = [];
  try {
    for (const entry of parent.list().sort()) {
      if (entry === own.entry || parseHidden(entry)?.name !== own.name) continue;
      const found = await probe(parent, entry);
      if (found !== undefined) live.push(found);
      else if (parent.lookUp(entry)?.isDirectory() === true) dead.push(entry);
    }
    return { live, dead };
  } catch (error) {
    for (const run of live) run.dispose();
    throw error;
  }
}

/** A hidden directory with a socket that answers. */
export class Place {
  readonly hidden: Hidden;
  readonly #parent: Directory;
  readonly #directory: Directory;
  readonly #server: Server;
  readonly #callers = new Set<Socket>();
  #left = false;

  private constructor(parent: Directory, hidden: Hidden, directory: Directory, server: Server) {
    this.#parent = parent;
    this.hidden = hidden;
    this.#directory = directory;
    this.#server = server;
    server.on("connection", (socket) => this.#keep(socket));
    server.on("error", () => {});
    server.unref();
  }

  /** Undefined when somebody took the directory for a dead run's before it could listen. */
  static async take(parent: Directory, hidden: Hidden): Promise<Place | undefined> {
    let directory: Directory | undefined;
    try {
      directory = parent.make(hidden.entry, ownerFor(parent));
      return new Place(parent, hidden, directory, await listen(directory));
    } catch (error) {
      const swept = isSwept(parent, hidden.entry, directory !== undefined, error);
      directory?.close();
      await removeEntry(parent, hidden.entry);
      if (swept) return undefined;
      throw error;
    }
  }

  /** Undefined when this claim came to nothing; the run that it was given up for has ended by then. */
  async waitForTurn(
    onWait: (entry: string) => void,
    signal: AbortSignal,
  ): Promise<Run | undefined> {
    while (!signal.aborted) {
      const { live, dead } = await lookAround(this.#parent, this.hidden);
      const [first] = live;
      if (first === undefined) return this.#becomeRun(dead);
      try {
        const goesFirst = first.entry < this.hidden.entry;
        if (goesFirst) await this.leave();
        onWait(first.entry);
        await first.ended(signal);
        if (goesFirst) return undefined;
      } finally {
        for (const run of live) run.dispose();
      }
    }
    return undefined;
  }

  /** Undefined when somebody took this for a dead run's directory meanwhile, and swept it. */
  #becomeRun(dead: readonly string[]): Run | undefined {
    const there =
      this.#parent.holds(this.hidden.entry, this.#directory) &&
      this.#directory.lookUp(lockName) !== undefined;
    if (!there) return undefined;
    return {
      directory: this.#directory,
      entry: this.hidden.entry,
      dead,
      release: (hurry) => this.leave(hurry),
    };
  }

  /**
   * Removes the directory, and only then stops listening: those that wait wake up to a clean place.
   * The socket goes last, since without it the rest would be taken for a dead run's.
   */
  async leave(hurry?: AbortSignal): Promise<void> {
    if (this.#left) return;
    this.#left = true;
    try {
      await setAside(this.#directory, hurry);
      for (const entry of this.#directory.list()) {
        if (entry !== lockName) await removeEntry(this.#directory, entry, hurry);
      }
      await removeEntry(this.#parent, this.hidden.entry);
    } catch (error) {
      throw diskError(`cannot remove ${this.#directory.path}`, error);
    } finally {
      await this.#close();
    }
  }

  #keep(socket: Socket): void {
    socket.unref();
    // Nobody sends anything; reading is how it is noticed that the other side went away.
    socket.resume();
    socket.on("error", () => {});
    socket.once("close", () => this.#callers.delete(socket));
    this.#callers.add(socket);
  }

  async #close(): Promise<void> {
    // The server must be closed before the directory: it removes the path that it was bound to.
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    for (const socket of this.#callers) socket.destroy();
    await closed;
    this.#directory.close();
  }
}

/** Whether a place could not be taken because its directory went away, and not its parent. */
function isSwept(parent: Directory, entry: string, wasMade: boolean, error: unknown): boolean {
  if (parent.stat().nlink === 0) return false;
  // Some file systems (/proc) say this where nothing can be made, and would say so for ever.
  if (isSystemError(error) && error.syscall === "mkdir") return false;
  if (hasCode(error, "ENOENT")) return true;
  // libuv says this for a socket whose directory is missing.
  return wasMade && hasCode(error, "EACCES") && parent.lookUp(entry) === undefined;
}

/**
 * Listens in a directory. The socket gets its name when it answers and everyone may connect to it,
 * so that nobody sees one of which neither can be said.
 */
async function listen(directory: Directory): Promise<Server> {
  const bound = `${lockName}.new`;
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path: directory.at(bound), readableAll: true, writableAll: true }, resolve);
  });
  try {
    onSocketReady(directory, bound);
    return server;
  } catch (error) {
    server.close();
    throw error;
  }
}

function onSocketReady(directory: Directory, bound: string): void {
  const owner = ownerFor(directory);
  if (owner !== undefined) fs.lchownSync(directory.at(bound), owner.uid, owner.gid);
  fs.renameSync(directory.at(bound), directory.at(lockName));
}
