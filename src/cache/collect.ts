import * as fs from "node:fs";

import { hasCode } from "../errors.ts";
import type { Directory } from "./directory.ts";
import { onDisk, diskError } from "./disk-error.ts";
import { parseHidden } from "./leftover.ts";
import { tryLock } from "./lock.ts";
import type { Run } from "./place.ts";
import { isName } from "./names.ts";
import { probe } from "./probe.ts";
import { belongsToAgent, type Sentinel } from "./sentinel.ts";
import { readSentinel } from "./state.ts";
import { recover } from "./swap.ts";

/** What collection took away. */
export interface Removed {
  /** A resource's directory, or what a dead run left beside it. */
  readonly kind: "directory" | "leftover";
  /** The resource's name. */
  readonly name: string;
  /** The entry of the cache path that is gone. */
  readonly entry: string;
}

/** Whether a directory that is the agent's, or nobody's, may go. */
export type MayRemove = (name: string, sentinel: Sentinel) => boolean;

/**
 * Goes on where dead runs stopped, and removes what they left. What a live run holds stays.
 *
 * @param only a resource's name, or undefined for all
 * @throws LarderError `disk`
 */
export async function sweep(parent: Directory, only?: string): Promise<readonly Removed[]> {
  const names = new Set<string>();
  for (const entry of entriesOf(parent)) {
    const name = parseHidden(entry)?.name;
    if (name !== undefined && (only === undefined || only === name)) names.add(name);
  }
  return eachOf(names, (name) => sweepName(parent, name));
}

async function sweepName(parent: Directory, name: string): Promise<readonly Removed[]> {
  if (!(await hasDead(parent, name))) return [];
  const run = await tryLock(parent, name);
  return run === undefined ? [] : whileHeld(run, () => sweepDead(parent, run, name));
}

/** Looked at first, so that no lock is taken from under somebody for nothing. */
async function hasDead(parent: Directory, name: string): Promise<boolean> {
  for (const entry of entriesOf(parent)) {
    if (parseHidden(entry)?.name !== name) continue;
    if (parent.lookUp(entry)?.isDirectory() === true && !(await isLive(parent, entry))) return true;
  }
  return false;
}

function entriesOf(parent: Directory): readonly string[] {
  return onDisk(`cannot list ${parent.path}`, () => parent.list());
}

/** One name's failure does not keep the others from their turn; the first is told in the end. */
async function eachOf(
  names: Iterable<string>,
  action: (name: string) => Promise<readonly Removed[]>,
): Promise<readonly Removed[]> {
  const removed: Removed[] = [];
  const failures: unknown[] = [];
  for (const name of names) {
    try {
      removed.push(...(await action(name)));
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return removed;
}

/** What is left of a name's dead runs, for who holds its lock; `hurry` as `removeEntry` takes it. */
export async function sweepDead(
  parent: Directory,
  run: Run,
  name: string,
  hurry?: AbortSignal,
): Promise<readonly Removed[]> {
  const removed: Removed[] = [];
  for (const entry of run.dead) {
    // It may have begun to listen since it was taken for dead: it waits for this run then.
    if (await isLive(parent, entry)) continue;
    await recover(parent, entry, name, hurry);
    removed.push({ kind: "leftover", name, entry });
  }
  return removed;
}

/**
 * Removes directories whose sentinel names the agent or nobody, where they may go. A sentinel that
 * cannot be read does not say whose the directory is, so it stays, as everything else does.
 *
 * @throws LarderError `disk`
 */
export async function collect(
  parent: Directory,
  mayRemove: MayRemove,
): Promise<readonly Removed[]> {
  const names = entriesOf(parent).filter(isName);
  return eachOf(names, async (name) => {
    if (!isUnclaimed(parent, name, mayRemove)) return [];
    const run = await tryLock(parent, name);
    if (run === undefined) return [];
    const gone = await whileHeld(run, () => takeAway(parent, run, name, mayRemove));
    return gone ? [{ kind: "directory", name, entry: name }] : [];
  });
}

/** Names of the directories that `collect` may be asked about. @throws LarderError `disk` */
export function collectable(parent: Directory): readonly string[] {
  return entriesOf(parent).filter((name) => isName(name) && isUnclaimed(parent, name, () => true));
}

/** Runs an action and releases the lock, whatever comes of it. */
export async function whileHeld<T>(run: Run, action: () => Promise<T> | T): Promise<T> {
  try {
    return await action();
  } finally {
    await run.release();
  }
}

async function isLive(parent: Directory, entry: string): Promise<boolean> {
  const live = await probe(parent, entry);
  live?.dispose();
  return live !== undefined;
}

function isUnclaimed(parent: Directory, name: string, mayRemove: MayRemove): boolean {
  return onDisk(`cannot look at ${parent.path}/${name}`, () => {
    if (parent.lookUp(name)?.isDirectory() !== true) return false;
    using directory = openOurs(parent, name);
    const sentinel = directory && readOurs(directory);
    return sentinel !== undefined && belongsToAgent(sentinel) && mayRemove(name, sentinel);
  });
}

/** Undefined for what this user may not look into: whatever it is, it is not the agent's to remove. */
function openOurs(parent: Directory, name: string): Directory | undefined {
  return unlessDenied(() => parent.open(name));
}

function readOurs(directory: Directory): Sentinel | undefined {
  return unlessDenied(() => readSentinel(directory)?.sentinel);
}

function unlessDenied<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (hasCode(error, "EACCES", "EPERM")) return undefined;
    throw error;
  }
}

/** Renamed first, so that nobody sees a directory that is half there. */
async function takeAway(
  parent: Directory,
  run: Run,
  name: string,
  mayRemove: MayRemove,
): Promise<boolean> {
  await sweepDead(parent, run, name);
  if (!isUnclaimed(parent, name, mayRemove)) return false;
  try {
    fs.renameSync(parent.at(name), run.directory.at("gone"));
    await parent.sync();
    return true;
  } catch (error) {
    throw diskError(`cannot remove ${parent.path}/${name}`, error);
  }
}
