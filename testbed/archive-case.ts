/** What the tests of archives share: an archive from bytes to open and back to nothing, and its refusal. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { ErrorCode } from "../src/errors.ts";
import { openArchive, type Archive } from "../src/image/archive.ts";
import type { Platform } from "../src/registry/platform.ts";
import { tarEntries } from "./oci-layout-writer.ts";
import { refusal } from "./refusal.ts";
import { tarOf } from "./tar-writer.ts";

export const never = new AbortController().signal;
export const amd64 = { os: "linux", architecture: "amd64" };
export const arm64 = { os: "linux", architecture: "arm64" };

/** Runs `use` with the path of a directory that is removed afterwards. */
export async function inDirectory<T>(use: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), "larder-archive-"));
  try {
    return await use(dir);
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** Writes `bytes` to a file, opens it as an archive, and closes and removes it after `use`. */
export function opened<T>(
  bytes: Buffer,
  use: (archive: Archive) => T | Promise<T>,
  { want = amd64, name = "app.tar" }: { want?: Platform; name?: string } = {},
): Promise<T> {
  return inDirectory(async (dir) => {
    await writeFile(join(dir, name), bytes);
    const archive = await openArchive(join(dir, name), want, never);
    try {
      return await use(archive);
    } finally {
      await archive.close();
    }
  });
}

/** Asserts that `bytes` are refused as an archive. */
export function refused(
  bytes: Buffer,
  code: ErrorCode,
  pattern: RegExp,
  want: Platform = amd64,
): Promise<void> {
  return assert.rejects(
    opened(bytes, () => undefined, { want }),
    refusal(code, pattern),
  );
}

/** The stored bytes of a layer. */
export async function layerBytes(archive: Archive, at: number): Promise<Buffer> {
  const blocks: Buffer[] = [];
  for await (const block of archive.image.layers[at]!.open(never)) blocks.push(block);
  return Buffer.concat(blocks);
}

/** A tar of files, some of them replaced or, where undefined, left out. */
export function changed(
  files: ReadonlyMap<string, Buffer>,
  changes: Readonly<Record<string, Buffer | string | undefined>>,
): Buffer {
  const result = new Map(files);
  for (const [path, content] of Object.entries(changes)) {
    if (content === undefined) result.delete(path);
    else result.set(path, Buffer.from(content));
  }
  return tarOf(tarEntries(result));
}
