import * as fs from "node:fs";

import { sweepDead } from "./collect.ts";
import { ownerFor, type Directory } from "./directory.ts";
import { diskError, onDisk } from "./disk-error.ts";
import { writeDurably } from "./file.ts";
import type { Run } from "./place.ts";
import { sentinelName, withMembers, type Sentinel, type SentinelMembers } from "./sentinel.ts";
import { readSentinel } from "./state.ts";

/** What of a sentinel is to be written anew; undefined to leave it alone. */
export type Change = (sentinel: Sentinel) => SentinelMembers | undefined;

/** Makes a directory the agent's. */
export const adopting: Change = ({ owner }) =>
  owner === "image-cache-agent" ? undefined : { owner: "image-cache-agent" };

/** Whether a directory has a valid sentinel that a change would change. */
export function wouldChange(parent: Directory, name: string, change: Change): boolean {
  return changed(parent, name, change) !== undefined;
}

/**
 * Writes a sentinel anew, for the one run that holds the name's lock: everything but the change stays
 * as it was, members that Larder does not know included. False where there is nothing to change.
 */
export async function rewriteSentinel(
  parent: Directory,
  run: Run,
  name: string,
  change: Change,
): Promise<boolean> {
  await sweepDead(parent, run, name);
  const text = changed(parent, name, change);
  if (text === undefined) return false;
  try {
    using directory = parent.open(name);
    await writeDurably(run.directory, "sentinel", text, ownerFor(parent));
    fs.renameSync(run.directory.at("sentinel"), directory.at(sentinelName));
    await directory.sync();
    return true;
  } catch (error) {
    throw diskError(`cannot write the sentinel of ${parent.path}/${name}`, error);
  }
}

function changed(parent: Directory, name: string, change: Change): string | undefined {
  return onDisk(`cannot look at ${parent.path}/${name}`, () => {
    if (parent.lookUp(name)?.isDirectory() !== true) return undefined;
    using directory = parent.open(name);
    const read = readSentinel(directory);
    if (read?.sentinel === undefined || read.bytes === undefined) return undefined;
    const members = change(read.sentinel);
    return members === undefined ? undefined : withMembers(read.bytes, members);
  });
}
