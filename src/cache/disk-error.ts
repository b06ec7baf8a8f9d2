import { hasCode, InsufficientDiskError, LarderError } from "../errors.ts";
import { systemFailure, type Remedies } from "../image/disk-error.ts";
import { formatBytes } from "./amount.ts";

const handOver = "run as root, or give the cache path to this user with 'larder prepare --uid'";
const mountPoint = "it is a mount point: unmount it, or use another cache path";

const remedies: Remedies = {
  EACCES: handOver,
  EPERM: handOver,
  EROFS: "mount it read-write (mount -o remount,rw); a failing disk may have made it read-only",
  EDQUOT: "raise the quota of the owner of the cache path, or free space below it",
  EIO: "the disk reports errors: look into the kernel's log (dmesg) and replace the disk",
  EUCLEAN: "the file system is damaged: unmount it and run fsck",
  ENAMETOOLONG: "this file system cannot hold such a name: use ext4 or xfs",
  EFBIG:
    "raise the limit of the process, where it has one (ulimit -f), or use a file system that holds larger files, such as ext4 or xfs",
  EBUSY: mountPoint,
  EXDEV: mountPoint,
  ENOTSUP: "the cache path must be on a local Linux file system, such as ext4 or xfs",
  ENOENT: "something removed it meanwhile: run this again",
};

/**
 * The error for a call on the cache's file system that failed; what is a LarderError already passes
 * unchanged.
 *
 * @param what names the work and the thing, as in `cannot write kube.tar`
 * @param left bytes that were still to be written, at least; for a disk that is full
 */
export function diskError(what: string, error: unknown, left = 1): LarderError {
  if (hasCode(error, "ENOSPC")) return diskFull(what, error, Math.max(left, 1));
  return systemFailure(what, error, remedies, hasCode(error, "EDQUOT", "ENOENT"));
}

/** Runs an action and turns what the file system says against it into a LarderError. */
export function onDisk<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw diskError(what, error);
  }
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
