import { getSystemErrorMessage } from "node:util";

import { InsufficientDiskError, isSystemError, LarderError } from "../errors.ts";
import { formatBytes } from "./amount.ts";

/** What helps against an error of the file system, by its code. */
const remedies: ReadonlyMap<string, string> = new Map([
  ["EACCES", "run as root, or give the cache path to this user with 'larder prepare --uid'"],
  ["EPERM", "run as root, or give the cache path to this user with 'larder prepare --uid'"],
  ["EROFS", "mount it read-write (mount -o remount,rw); a failing disk may have made it read-only"],
  ["EDQUOT", "raise the quota of the owner of the cache path, or free space below it"],
  ["EIO", "the disk reports errors: look into the kernel's log (dmesg) and replace the disk"],
  ["EUCLEAN", "the file system is damaged: unmount it and run fsck"],
  ["ENAMETOOLONG", "this file system cannot hold such a name: use ext4 or xfs"],
  ["EMFILE", "raise the limit of open files (ulimit -n)"],
  ["ENFILE", "raise the machine's limit of open files (sysctl fs.file-max)"],
  ["EBUSY", "it is a mount point: unmount it, or use another cache path"],
  ["EXDEV", "it is a mount point: unmount it, or use another cache path"],
  ["ENOTSUP", "the cache path must be on a local Linux file system, such as ext4 or xfs"],
  ["ENOENT", "something removed it meanwhile: run this again"],
]);

/**
 * The error for a file system call that failed; what is a LarderError already passes unchanged.
 *
 * @param what names the work and the thing, as in `cannot write kube.tar`
 * @param left bytes that were still to be written, at least; for a disk that is full
 */
export function diskError(what: string, error: unknown, left = 1): LarderError {
  if (error instanceof LarderError) return error;
  if (!isSystemError(error)) {
    return new LarderError("internal", {
      what,
      why: error instanceof Error ? error.message : String(error),
      todo: "this is a fault of Larder: report it with this line",
      cause: error,
    });
  }
  if (error.code === "ENOSPC") return diskFull(what, error, Math.max(left, 1));
  return new LarderError("disk", {
    what,
    why: `${wordsOf(error)} (${error.code})`,
    todo: remedies.get(error.code) ?? "check the disk and its file system, then run this again",
    cause: error,
    retryable: error.code === "EDQUOT" || error.code === "ENOENT",
  });
}

/** Runs an action and turns what the file system says against it into a LarderError. */
export function onDisk<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw diskError(what, error);
  }
}

/** Whether an error has one of these system error codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return isSystemError(error) && codes.includes(error.code);
}

function diskFull(what: string, cause: Error, left: number): LarderError {
  const rest = left > 1 ? `, with at least ${formatBytes(left)} still to write` : "";
  return new InsufficientDiskError(left, {
    what,
    why: `no space left on device${rest} (ENOSPC)`,
    todo: "free space (df -h) or inodes (df -i) below the cache path, then run this again",
    cause,
    retryable: true,
  });
}

/** The system's words without Node's, which name paths below /proc that mean nothing to a reader. */
function wordsOf(error: NodeJS.ErrnoException): string {
  if (error.errno === undefined) return error.message;
  return getSystemErrorMessage(error.errno) ?? error.message;
}
