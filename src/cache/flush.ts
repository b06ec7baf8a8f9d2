import { spawn } from "node:child_process";
import * as fs from "node:fs";

import type { Directory } from "./directory.ts";
import { diskError } from "./disk-error.ts";
import { syncDescriptor } from "./file.ts";

/** As many as libuv has threads for, by default. */
const atOnce = 4;

/**
 * Makes files durable that were written to a directory: one by one when they are few; else the whole
 * file system at once with coreutils' `sync -f`, and one by one where that is missing or fails.
 *
 * @throws LarderError `disk`; the signal's reason
 */
export async function flushFiles(
  directory: Directory,
  names: readonly string[],
  few: number,
  signal: AbortSignal,
  syncCommand = "sync",
): Promise<void> {
  if (names.length > few && (await flushFileSystem(directory, syncCommand, signal))) return;
  const waiting = names.values();
  const work = async (): Promise<void> => {
    for (const name of waiting) {
      signal.throwIfAborted();
      await flushFile(directory, name);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

async function flushFile(directory: Directory, name: string): Promise<void> {
  let fd: number | undefined;
  try {
    fd = fs.openSync(directory.at(name), fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
    await syncDescriptor(fd);
  } catch (error) {
    throw diskError(`cannot flush ${directory.path}/${name} to the disk`, error);
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}

/** False when it could not be done. Told to stop, it does not wait: a flush cannot be killed. */
function flushFileSystem(
  directory: Directory,
  command: string,
  signal: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, ["-f", "."], { cwd: directory.self, stdio: "ignore" });
    const settle = (done: boolean): void => {
      signal.removeEventListener("abort", stop);
      resolve(done);
    };
    const stop = (): void => {
      signal.removeEventListener("abort", stop);
      child.kill("SIGKILL");
      child.unref();
      reject(signal.reason);
    };
    child.once("error", () => settle(false));
    child.once("exit", (code) => settle(code === 0));
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
  });
}
