import { getSystemErrorMessage } from "node:util";

import { isSystemError, LarderError } from "../errors.ts";
import { kindOf, type FileKind } from "./file-kind.ts";

/** What helps against an error of the file system, by its code. */
export type Remedies = Readonly<Record<string, string>>;

const reading: Remedies = {
  ENOENT: "check the path, and that the disk it is on is mounted",
  ENOTDIR: "check the path",
  EACCES: "run this as a user who may read it, such as root",
  EPERM: "run this as a user who may read it, such as root",
  ELOOP: "copy it with its links followed (cp -rL) and use the copy",
  EIO: "the medium is failing: use another copy on another disk",
  ENXIO: "it is a socket or a device: give the path of a file",
  ENAMETOOLONG: "check the path",
};

const anywhere: Remedies = {
  EMFILE: "raise the limit of open files (ulimit -n)",
  ENFILE: "raise the machine's limit of open files (sysctl fs.file-max)",
};

/**
 * The error for a file system call that failed; what is a LarderError already passes unchanged.
 *
 * @param what names the work and the thing, as in `cannot write kube.tar`
 */
export function systemFailure(
  what: string,
  error: unknown,
  remedies: Remedies,
  retryable = false,
): LarderError {
  if (error instanceof LarderError) return error;
  if (!isSystemError(error)) {
    return new LarderError("internal", {
      what,
      why: error instanceof Error ? error.message : String(error),
      todo: "this is a fault of Larder: report it with this line",
      cause: error,
    });
  }
  const { code } = error;
  return new LarderError("disk", {
    what,
    why: `${wordsOf(error)} (${code})`,
    todo:
      remedies[code] ?? anywhere[code] ?? "check the disk and its file system, then run this again",
    cause: error,
    retryable,
  });
}

/** The error for an archive, or a file of one, that cannot be read. */
export function cannotRead(path: string, error: unknown): LarderError {
  return systemFailure(`cannot read ${path}`, error, reading);
}

/** The error for something that is neither a file nor, where one may be given, a directory. */
export function refuseKind(path: string, kind: FileKind): LarderError {
  return new LarderError("image", {
    what: `cannot read ${path}`,
    why: `it is ${kindOf(kind)}, and an image is read from a regular file, more than once`,
    todo: "write the archive to a file and give the path of that",
  });
}

/** The system's words without Node's, which name paths below /proc that mean nothing to a reader. */
function wordsOf(error: NodeJS.ErrnoException): string {
  if (error.errno === undefined) return error.message;
  return getSystemErrorMessage(error.errno) ?? error.message;
}
