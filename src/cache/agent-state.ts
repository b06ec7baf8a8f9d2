import * as fs from "node:fs";

import { hasCode } from "../errors.ts";
import { ownerFor, type Directory } from "./directory.ts";
import { syncDescriptor } from "./file.ts";

/** Where the agent keeps what it has to know across a restart, in its default cache path. */
const agentStateName = ".larder-agent.json";
/** While it is written; one agent runs on a node, so the name is fixed and nothing piles up. */
const beingWritten = ".larder-agent.json.new";
/** A longer one is nobody's. */
const maxBytes = 16 * 1024 * 1024;

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = fs.constants;

/** What was kept; undefined where there is nothing, or no ordinary file. Throws system errors. */
export function readAgentState(parent: Directory): Buffer | undefined {
  let fd: number;
  try {
    fd = fs.openSync(parent.at(agentStateName), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ELOOP", "ENXIO")) return undefined;
    throw error;
  }
  try {
    const found = fs.fstatSync(fd);
    return found.isFile() && found.size <= maxBytes ? fs.readFileSync(fd) : undefined;
  } finally {
    fs.closeSync(fd);
  }
}

/** Replaces what was kept, whole or not at all, readable by its owner alone. Throws system errors. */
export async function writeAgentState(parent: Directory, text: string): Promise<void> {
  fs.rmSync(parent.at(beingWritten), { force: true, recursive: true });
  const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  const fd = fs.openSync(parent.at(beingWritten), flags, 0o600);
  try {
    const owner = ownerFor(parent);
    if (owner !== undefined) fs.fchownSync(fd, owner.uid, owner.gid);
    fs.fchmodSync(fd, 0o600);
    fs.writeFileSync(fd, text);
    await syncDescriptor(fd);
  } finally {
    fs.closeSync(fd);
  }
  try {
    fs.renameSync(parent.at(beingWritten), parent.at(agentStateName));
  } catch (error) {
    fs.rmSync(parent.at(beingWritten), { force: true });
    throw error;
  }
  await parent.sync();
}
