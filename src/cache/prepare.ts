import * as fs from "node:fs";

import { hasCode, interrupted } from "../errors.ts";
import { systemFailure } from "../image/disk-error.ts";
import { openCachePath } from "./cache-path.ts";
import type { Directory, Owner } from "./directory.ts";
import { diskError } from "./disk-error.ts";
import { parseHidden } from "./leftover.ts";
import { sentinelName } from "./sentinel.ts";
import { Slices } from "./slices.ts";

/** The usual remedy is to run `larder prepare`, which is what has just failed. */
const asRoot = {
  EACCES: "run this as root",
  EPERM: "run this as root, with the capability CHOWN where root has not all of them",
};

export interface PrepareOptions extends Owner {
  readonly signal?: AbortSignal;
}

/**
 * Gives cache paths to a user: each path itself, the directories in it that have a sentinel, and
 * what runs of Larder left. Creates nothing, follows no link, and leaves alone flat files, foreign
 * directories, and files that have a second name, which may be somebody's elsewhere.
 *
 * @throws LarderError `cache-path` before anything is changed; `disk`; `interrupted`
 */
export async function prepare(paths: readonly string[], options: PrepareOptions): Promise<void> {
  for (const path of paths) openCachePath(path).close();
  for (const path of paths) {
    const what = `cannot give ${path} to ${options.uid}:${options.gid}`;
    using parent = openCachePath(path);
    try {
      await handOver(parent, options);
    } catch (error) {
      if (options.signal?.aborted === true) throw interrupted(what, error);
      if (hasCode(error, "EACCES", "EPERM")) throw systemFailure(what, error, asRoot);
      throw diskError(what, error);
    }
  }
}

/** The path itself comes last: until then its old owner still has a cache path that works. */
async function handOver(parent: Directory, options: PrepareOptions): Promise<void> {
  const slices = new Slices(options.signal);
  for (const entry of parent.list()) {
    if (parent.lookUp(entry)?.isDirectory() !== true) continue;
    using directory = parent.open(entry);
    const ours = parseHidden(entry) !== undefined || isFilled(entry, directory);
    if (ours) await giveTree(directory, options, slices);
  }
  give(parent, options);
}

function isFilled(entry: string, directory: Directory): boolean {
  return !entry.startsWith(".") && directory.lookUp(sentinelName) !== undefined;
}

async function giveTree(directory: Directory, owner: Owner, slices: Slices): Promise<void> {
  give(directory, owner);
  for (const entry of directory.list()) {
    await slices.pause();
    const found = directory.lookUp(entry);
    if (found?.isDirectory() === true) {
      using inner = directory.open(entry);
      await giveTree(inner, owner, slices);
    } else if (found !== undefined && found.nlink === 1 && !owns(owner, found)) {
      fs.lchownSync(directory.at(entry), owner.uid, owner.gid);
    }
  }
}

function give(directory: Directory, owner: Owner): void {
  if (!owns(owner, directory.stat())) fs.chownSync(directory.self, owner.uid, owner.gid);
}

function owns(owner: Owner, { uid, gid }: fs.Stats): boolean {
  return uid === owner.uid && gid === owner.gid;
}
