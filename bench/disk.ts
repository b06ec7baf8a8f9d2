import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";

import { runCommand } from "../testbed/command.ts";

/**
 * Gives `work` an empty folder to write to, and takes it away again. What was written before is
 * flushed first, so that no run pays for the one before it.
 * @param fresh on an ext4 of its own, made for this one run
 */
export async function onEmptyDisk<T>(
  home: string,
  fresh: boolean,
  work: (dir: string) => Promise<T>,
): Promise<T> {
  const dir = await mkdtemp(join(home, "run-"));
  try {
    if (fresh) return await onNewExt4(dir, work);
    await runCommand("sync", []);
    return await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function onNewExt4<T>(dir: string, work: (dir: string) => Promise<T>): Promise<T> {
  const [backing, mount] = [join(dir, "ext4.img"), join(dir, "mount")];
  await mkdir(mount);
  await runCommand("truncate", ["--size", "2G", backing]);
  // Without the lazy parts, which the kernel would do in the background of the run.
  const eager = "lazy_itable_init=0,lazy_journal_init=0";
  await runCommand("mkfs.ext4", ["-q", "-F", "-E", eager, backing]);
  await runCommand("mount", ["-o", "loop", backing, mount]);
  try {
    await runCommand("sync", []);
    return await work(mount);
  } finally {
    await runCommand("umount", [mount]);
  }
}
