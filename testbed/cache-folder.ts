import { mkdir, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";

/** Where built tools and images are kept between runs: `$LARDER_TESTBED`, outside the checkout. */
export function cacheFolder(): string {
  const named = process.env["LARDER_TESTBED"];
  return named === undefined || named === ""
    ? join(homedir(), ".cache", "larder-testbed")
    : resolve(named);
}

/**
 * The folder `name` below the cache folder, made by `make` where it is not there yet. It appears
 * whole or not at all, so a run that is killed, or two at once, leave nothing half made.
 * @param name says what is in it, down to the hash of what it is made from
 */
export async function cached(name: string, make: (dir: string) => Promise<void>): Promise<string> {
  const target = join(cacheFolder(), name);
  if (await exists(target)) return target;
  await mkdir(dirname(target), { recursive: true });
  const made = await mkdtemp(join(dirname(target), `.${basename(target)}.`));
  try {
    await make(made);
    await rename(made, target);
  } catch (error) {
    await rm(made, { recursive: true, force: true });
    // Another run was faster, and what it made is the same.
    if (!(await exists(target))) throw error;
  }
  return target;
}

async function exists(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined;
}
