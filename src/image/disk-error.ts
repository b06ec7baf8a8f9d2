import { isSystemError, LarderError } from "../errors.ts";

/** What a file system says, in words, and what helps. */
const reasons: Readonly<Record<string, { why: string; todo: string }>> = {
  ENOENT: {
    why: "there is no such file or directory",
    todo: "check the path, and that the disk it is on is mounted",
  },
  ENOTDIR: { why: "a part of its path is not a directory", todo: "check the path" },
  EACCES: { why: "permission denied", todo: "run this as a user who may read it, such as root" },
  EPERM: { why: "permission denied", todo: "run this as a user who may read it, such as root" },
  ELOOP: {
    why: "it is a symbolic link where a file must be, or its path has too many of them",
    todo: "copy it with its links followed (cp -rL) and use the copy",
  },
  EIO: {
    why: "the disk reports an input/output error",
    todo: "the medium is failing: use another copy on another disk",
  },
  ENXIO: { why: "it is a socket or a device, not an archive", todo: "give the path of a file" },
  EMFILE: { why: "too many files are open", todo: "raise the limit of open files (ulimit -n)" },
  ENAMETOOLONG: { why: "its name is too long", todo: "check the path" },
};

/** The error for a file system call that failed; a LarderError passes as it is. */
export function cannotRead(path: string, error: unknown): LarderError {
  if (error instanceof LarderError) return error;
  const known = isSystemError(error) ? reasons[error.code] : undefined;
  return new LarderError("disk", {
    what: `cannot read ${path}`,
    why: known?.why ?? (error instanceof Error ? error.message : String(error)),
    todo: known?.todo ?? "check the path and the disk it is on, then run this again",
    cause: error,
  });
}

interface FileKind {
  isDirectory(): boolean;
  isFIFO(): boolean;
  isSocket(): boolean;
  isBlockDevice(): boolean;
  isCharacterDevice(): boolean;
}

/** The error for something that is neither a file nor, where one may be given, a directory. */
export function refuseKind(path: string, kind: FileKind): LarderError {
  return new LarderError("image", {
    what: `cannot read ${path}`,
    why: `it is ${kindOf(kind)}, and an image is read from a regular file, more than once`,
    todo: "write the archive to a file and give the path of that",
  });
}

function kindOf(kind: FileKind): string {
  if (kind.isDirectory()) return "a directory";
  if (kind.isFIFO()) return "a pipe";
  if (kind.isSocket()) return "a socket";
  if (kind.isBlockDevice()) return "a block device";
  return kind.isCharacterDevice() ? "a character device" : "no file";
}
