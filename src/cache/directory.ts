import { constants, promises } from "node:fs";
import * as fs from "node:fs";

import { hasCode } from "../errors.ts";

/** Linux's O_PATH, which Node does not name: a handle that needs no permission to read. */
export const pathOnly = 0o10000000;

const asDirectory = constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * An open directory. What is in it is reached through its descriptor, so no link that somebody
 * plants on the way leads elsewhere, and paths stay short enough for a socket (107 bytes). Its
 * methods throw the system's errors as they are.
 */
export class Directory implements Disposable {
  /** For messages. */
  readonly path: string;
  readonly #fd: number;
  #open = true;

  private constructor(fd: number, path: string) {
    this.#fd = fd;
    this.path = path;
  }

  /** Opens a directory by its path; a symbolic link as last component is refused (ENOTDIR). */
  static open(path: string): Directory {
    return new Directory(fs.openSync(path, constants.O_RDONLY | asDirectory), path);
  }

  /** Opens a directory in this one, never through a link. */
  open(name: string): Directory {
    const fd = fs.openSync(this.at(name), constants.O_RDONLY | asDirectory);
    return new Directory(fd, `${this.path}/${name}`);
  }

  /** Like `open`, for one that may be unreadable: only `at` and `self` are of use then. */
  openHandle(name: string): Directory {
    return new Directory(
      fs.openSync(this.at(name), pathOnly | asDirectory),
      `${this.path}/${name}`,
    );
  }

  /** Makes a directory in this one: 0755 whatever the umask, of the given owner, and opens it. */
  make(name: string, owner: Owner | undefined): Directory {
    fs.mkdirSync(this.at(name), 0o755);
    const made = this.open(name);
    try {
      fs.fchmodSync(made.#fd, 0o755);
      if (owner !== undefined) fs.fchownSync(made.#fd, owner.uid, owner.gid);
      return made;
    } catch (error) {
      made.close();
      throw error;
    }
  }

  /** The path of an entry for a system call; good while this is open. */
  at(name: string): string {
    return `${this.self}/${name}`;
  }

  /** The path of the directory itself for a system call; good while this is open. */
  get self(): string {
    if (!this.#open) throw new Error(`${this.path} is closed`);
    return `/proc/self/fd/${this.#fd}`;
  }

  stat(): fs.Stats {
    return fs.fstatSync(this.#fd);
  }

  /** What is known of an entry, links not followed; undefined where there is none. */
  lookUp(name: string): fs.Stats | undefined {
    return fs.lstatSync(this.at(name), { throwIfNoEntry: false });
  }

  /** Names in no order. One that is not UTF-8, which Larder never makes, comes out garbled. */
  list(): string[] {
    return fs.readdirSync(this.self);
  }

  /** Whether an entry of the directory is this very directory still. */
  holds(name: string, other: Directory): boolean {
    const there = this.lookUp(name);
    const here = other.stat();
    return there !== undefined && there.ino === here.ino && there.dev === here.dev;
  }

  /** Makes the entries durable. */
  async sync(): Promise<void> {
    const handle = await promises.open(this.self, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await handle.sync();
    } catch (error) {
      // Some file systems have nothing to flush for a directory and say so.
      if (!hasCode(error, "EINVAL")) throw error;
    } finally {
      await handle.close();
    }
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    fs.closeSync(this.#fd);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Who shall own what is made in a directory: its own owner and group, so that root's work can be
 * repaired by the agent and the other way round. Without privileges only a group of one's own can
 * be given. Undefined where there is nothing to change.
 */
export function ownerFor(directory: Directory): Owner | undefined {
  const [user, group] = [process.geteuid?.(), process.getegid?.()];
  const { uid, gid } = directory.stat();
  if (user === undefined || (uid === user && gid === group)) return undefined;
  if (user === 0) return { uid, gid };
  const mayGive = gid !== group && process.getgroups?.().includes(gid) === true;
  return mayGive ? { uid: user, gid } : undefined;
}
