import * as fs from "node:fs";
import { dirname } from "node:path";

import { hasCode, isSystemError, LarderError } from "../errors.ts";
import { kindOf } from "../image/file-kind.ts";
import { Directory } from "./directory.ts";
import { diskError } from "./disk-error.ts";

/**
 * Opens a cache path, which must be there and be a directory itself: a link may lead elsewhere
 * tomorrow than today, or to another place inside a container than outside.
 *
 * @throws LarderError `cache-path`
 */
export function openCachePath(path: string): Directory {
  try {
    const found = fs.lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) {
      throw refuse(path, "it does not exist", `make it (mkdir -p ${path}) or mount what it is on`);
    }
    if (found.isSymbolicLink()) {
      throw refuse(path, "it is a symbolic link", `name the directory itself: ${targetOf(path)}`);
    }
    if (!found.isDirectory()) {
      throw refuse(path, `it is ${kindOf(found)}`, "name a directory");
    }
    return Directory.open(path);
  } catch (error) {
    throw explain(path, error);
  }
}

/** @throws LarderError `cache-path` where nothing can be made in it */
export function checkWritable(directory: Directory): void {
  try {
    fs.accessSync(directory.self, fs.constants.W_OK | fs.constants.X_OK);
  } catch (error) {
    // access(2) has this one reason for it, and it holds for root, too.
    if (hasCode(error, "EPERM")) {
      const todo = `let it be changed again: chattr -i ${directory.path}`;
      throw refuse(directory.path, "it has the immutable attribute", todo, error);
    }
    throw explain(directory.path, error);
  }
}

function targetOf(path: string): string {
  try {
    return fs.realpathSync(path);
  } catch {
    return "it leads nowhere now";
  }
}

function explain(path: string, error: unknown): LarderError {
  if (error instanceof LarderError) return error;
  const code = isSystemError(error) ? error.code : undefined;
  const user = process.geteuid?.() ?? "this user";
  if (code === "EACCES" || code === "EPERM") {
    const closed = closedDirectory(path);
    if (closed !== undefined) {
      const why = `user ${user} may not enter ${closed}`;
      const todo = `make that directory searchable for this user (chmod a+x ${closed}), or run as root`;
      return refuse(path, why, todo, error);
    }
    const todo = `run as root, or give it to this user: larder prepare --uid ${user} ${path}`;
    return refuse(path, `user ${user} may not write there`, todo, error);
  }
  if (code === "EROFS") {
    const todo = "mount it read-write; a failing disk makes the kernel mount it read-only (dmesg)";
    return refuse(path, "it is on a read-only file system", todo, error);
  }
  if (code === "ENOTDIR") {
    return refuse(path, "a part of it is not a directory", "name another path", error);
  }
  if (code === "ELOOP") {
    return refuse(path, "it has too many symbolic links", "name the directory itself", error);
  }
  return diskError(`cannot use the cache path ${path}`, error);
}

/** The first directory above a path that this user may not pass through; undefined where all are open. */
function closedDirectory(path: string): string | undefined {
  const above = dirname(path);
  if (above === path) return undefined;
  const closed = closedDirectory(above);
  if (closed !== undefined) return closed;
  try {
    fs.lstatSync(path);
    return undefined;
  } catch (error) {
    return hasCode(error, "EACCES") ? above : undefined;
  }
}

function refuse(path: string, why: string, todo: string, cause?: unknown): LarderError {
  return new LarderError("cache-path", {
    what: `cannot use the cache path ${path}`,
    why,
    todo,
    cause,
    retryable: true,
  });
}
