/** File systems in files, for disks that are full, read-only, or lose their power. Needs root. */
import { execFileSync } from "node:child_process";
import { mkdtemp, open, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { runCommand } from "./command.ts";

export type FileSystem = "ext4" | "xfs";

/** xfs is not made smaller than this by its own tools; both files are sparse. */
const sizes: Record<FileSystem, number> = { ext4: 128 * 1024 * 1024, xfs: 320 * 1024 * 1024 };

export interface MountedDisk {
  readonly path: string;
  /** Unmounts; safe to call twice. */
  close(): Promise<void>;
}

/** Makes an empty file system in a file. */
export async function makeDisk(file: string, type: FileSystem, size = sizes[type]): Promise<void> {
  const handle = await open(file, "w");
  await handle.truncate(size);
  await handle.close();
  const quiet = type === "ext4" ? ["-q", "-E", "lazy_itable_init=0,nodiscard"] : ["-q", "-K"];
  await runCommand(`mkfs.${type}`, [...quiet, file]);
}

/**
 * Mounts the file system in a file. Its own timers are as good as off, so that nothing reaches the
 * file but what somebody flushed.
 */
export async function mountDisk(
  file: string,
  type: FileSystem,
  options: readonly string[] = [],
): Promise<MountedDisk> {
  if (process.getuid?.() !== 0) {
    throw new Error("mounting a loop device needs root: run this suite as root");
  }
  const path = await mkdtemp(join(tmpdir(), "larder-disk-"));
  const own = type === "ext4" ? ["commit=600"] : ["nouuid"];
  const mount = ["-o", ["loop", ...own, ...options].join(","), file, path];
  try {
    await runCommand("mount", mount);
  } catch (error) {
    await rmdir(path);
    throw error;
  }
  const disk = new LoopMount(path);
  process.once("exit", disk.drop);
  return disk;
}

/** What is in the file now: as after a power cut at this moment. Mounted file systems stay so. */
export async function powerCut(file: string, copy: string): Promise<void> {
  await runCommand("cp", ["--sparse=always", file, copy]);
}

/** A copy of a file system that is not mounted. */
export async function copyDisk(file: string, copy: string): Promise<void> {
  await rm(copy, { force: true });
  await runCommand("cp", ["--sparse=always", file, copy]);
}

class LoopMount implements MountedDisk {
  readonly path: string;
  #mounted = true;

  constructor(path: string) {
    this.path = path;
  }

  async close(): Promise<void> {
    if (!this.#mounted) return;
    await runCommand("umount", [this.path]);
    this.#mounted = false;
    process.off("exit", this.drop);
    await rm(this.path, { recursive: true });
  }

  /** The last resort when the test run ends early: nothing stays mounted. */
  readonly drop = (): void => {
    if (this.#mounted) execFileSync("umount", ["--lazy", this.path]);
  };
}
