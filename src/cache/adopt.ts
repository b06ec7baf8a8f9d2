import * as fs from "node:fs";

import { sweepDead } from "./collect.ts";
import { ownerFor, type Directory } from "./directory.ts";
import { diskError, onDisk } from "./disk-error.ts";
import { writeDurably } from "./file.ts";
import type { Run } from "./place.ts";
import { sentinelName, withOwner } from "./sentinel.ts";
import { readSentinel } from "./state.ts";

/** Whether a directory has a valid sentinel that names another owner than the agent, or none. */
export function isAdoptable(parent: Directory, name: string): boolean {
  return adoptable(parent, name) !== undefined;
}

/** The bytes of a sentinel that can be adopted. */
function adoptable(parent: Directory, name: string): Buffer | undefined {
  return onDisk(`cannot look at ${parent.path}/${name}`, () => {
    if (parent.lookUp(name)?.isDirectory() !== true) return undefined;
    using directory = parent.open(name);
    const read = readSentinel(directory);
    return read?.sentinel?.owner === "image-cache-agent" ? undefined : read?.sentinel && read.bytes;
  });
}

/** Makes a directory the agent's, for the one run that holds its lock; false if there is none. */
export async function adopt(parent: Directory, run: Run, name: string): Promise<boolean> {
  await sweepDead(parent, run, name);
  const bytes = adoptable(parent, name);
  if (bytes === undefined) return false;
  try {
    using directory = parent.open(name);
    const text = withOwner(bytes, "image-cache-agent");
    await writeDurably(run.directory, "sentinel", text, ownerFor(parent));
    fs.renameSync(run.directory.at("sentinel"), directory.at(sentinelName));
    await directory.sync();
    return true;
  } catch (error) {
    throw diskError(`cannot adopt ${parent.path}/${name}`, error);
  }
}
