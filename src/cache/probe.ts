import { rmdirSync } from "node:fs";
import { connect } from "node:net";

import { hasCode } from "../errors.ts";
import type { Directory } from "./directory.ts";
import { diskError } from "./disk-error.ts";

/** The socket in a hidden directory on which a live run listens. */
export const lockName = "lock";

/** A live run of somebody else. */
export interface LiveRun {
  /** The entry of its hidden directory. */
  readonly entry: string;
  /** Resolves when it has ended, or when the signal aborts. Call once. */
  ended(signal: AbortSignal): Promise<void>;
  /** Stops watching it. */
  dispose(): void;
}

/** How long until a run that may not be talked to is looked at again. */
const pollMs = 500;

/**
 * Whether the run that made a hidden directory lives: undefined when it is dead or gone. What the
 * connection says: accepted, or its queue full: it lives. Refused, or no socket: it is dead, or has
 * not begun to listen. Permission denied on a socket that is there: sockets are made for everyone,
 * so a security module stands between two live processes (it is asked only then), and all that can
 * be done is to look again.
 *
 * @throws LarderError `disk` when the directory may not be looked into
 */
export async function probe(parent: Directory, entry: string): Promise<LiveRun | undefined> {
  for (;;) {
    const answer = await probeOnce(parent, entry);
    if (answer !== "again") return answer;
  }
}

async function probeOnce(parent: Directory, entry: string): Promise<LiveRun | "again" | undefined> {
  try {
    using directory = parent.openHandle(entry);
    if (!hasSocket(directory, parent.at(entry))) return undefined;
    return await call(directory, entry);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR", "ECONNREFUSED", "EPROTOTYPE")) return undefined;
    // It died between taking the connection and answering it.
    if (hasCode(error, "ECONNRESET", "EPIPE")) return "again";
    throw diskError(`cannot tell whether the run that made ${parent.path}/${entry} lives`, error);
  }
}

/**
 * A run that was killed before it could set its directory's mode may leave one that nobody else may
 * look into; it is empty then, and removing it proves that.
 */
function hasSocket(directory: Directory, path: string): boolean {
  try {
    return directory.lookUp(lockName)?.isSocket() === true;
  } catch (error) {
    if (!hasCode(error, "EACCES") || !removedEmpty(path)) throw error;
    return false;
  }
}

function removedEmpty(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch {
    return false;
  }
}

function call(directory: Directory, entry: string): Promise<LiveRun> {
  return new Promise((resolve, reject) => {
    const socket = connect(directory.at(lockName));
    let ended = false;
    socket.once("close", () => {
      ended = true;
    });
    socket.once("connect", () => {
      socket.off("error", refused);
      // An end by reset is an end.
      socket.on("error", () => {});
      socket.resume();
      resolve({
        entry,
        ended: (signal) => (ended ? Promise.resolve() : untilClosed(socket, signal)),
        dispose: () => socket.destroy(),
      });
    });
    const refused = (error: Error): void => {
      if (hasCode(error, "EAGAIN", "EACCES", "EPERM")) resolve(mute(entry));
      else reject(error);
    };
    socket.once("error", refused);
  });
}

/** A run that lives and cannot be listened to: it counts as ended every now and then. */
function mute(entry: string): LiveRun {
  return {
    entry,
    dispose: () => {},
    ended: (signal) =>
      new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, pollMs);
        signal.addEventListener("abort", done);
        if (signal.aborted) done();
      }),
  };
}

function untilClosed(socket: ReturnType<typeof connect>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off("close", done);
      signal.removeEventListener("abort", done);
      socket.destroy();
      resolve();
    };
    socket.on("close", done);
    signal.addEventListener("abort", done);
    if (signal.aborted || socket.destroyed) done();
  });
}
