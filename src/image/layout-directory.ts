import { lstat } from "node:fs/promises";
import { join } from "node:path";

import { hasCode, LarderError } from "../errors.ts";
import { cannotRead, refuseKind } from "./disk-error.ts";
import { DiskFile } from "./disk-file.ts";
import { refuseLarge, refuseMissing, type NamedFiles } from "./named-files.ts";

/**
 * The files of a directory. A symbolic link in place of a file is refused: import runs as root, and
 * whoever filled the directory must not choose which file elsewhere on the machine is read. (A link
 * in place of `blobs` does no harm: below it only names made of digests are opened, and only bytes of
 * that digest are taken.)
 */
export class LayoutDirectory implements NamedFiles {
  readonly where: string;

  constructor(path: string) {
    this.where = path;
  }

  async size(name: string): Promise<number | undefined> {
    const path = join(this.where, name);
    try {
      const stats = await lstat(path);
      if (stats.isSymbolicLink()) throw refuseLink(path);
      if (!stats.isFile()) throw refuseKind(path, stats);
      return stats.size;
    } catch (error) {
      if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
      throw cannotRead(path, error);
    }
  }

  async readSmall(name: string, limit: number, signal: AbortSignal): Promise<Buffer> {
    const size = await this.size(name);
    if (size === undefined) throw refuseMissing(name, this.where);
    if (size > limit) throw refuseLarge(name, this.where, size, limit);
    const blocks: Buffer[] = [];
    let length = 0;
    for await (const block of this.open(name, signal)) {
      length += block.length;
      if (length > limit) throw refuseLarge(name, this.where, length, limit);
      blocks.push(block);
    }
    return Buffer.concat(blocks);
  }

  async *open(name: string, signal: AbortSignal): AsyncGenerator<Buffer> {
    const file = await DiskFile.open(join(this.where, name), "refuse");
    try {
      yield* file.read(0, file.size, signal);
    } finally {
      await file.close();
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function refuseLink(path: string): LarderError {
  return new LarderError("image", {
    what: `cannot read ${path}`,
    why: "it is a symbolic link, which Larder does not follow inside a layout",
    todo: "copy the directory with its links followed (cp -rL) and give the copy",
  });
}
