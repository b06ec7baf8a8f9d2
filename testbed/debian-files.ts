import { lstat, readFile, realpath } from "node:fs/promises";

import { runCommand } from "./command.ts";
import type { TarSpec } from "./image-builder.ts";

/** The files that an installed Debian package brought, as entries of a layer; links stay behind. */
export async function packageFiles(name: string): Promise<TarSpec[]> {
  const listed = await runCommand("dpkg", ["--listfiles", name]).catch((error: unknown) => {
    throw new Error(`the Debian package ${name} is needed: apt-get install ${name}`, {
      cause: error,
    });
  });
  const entries: TarSpec[] = [];
  for (const path of listed.stdout.split("\n").filter(Boolean)) {
    const found = await lstat(path).catch(() => undefined);
    if (found?.isFile() === true) entries.push(await entryOf(path));
  }
  return entries;
}

/** The shared libraries that a program loads, its loader among them. */
export async function libraryFiles(program: string): Promise<TarSpec[]> {
  const { stdout } = await runCommand("ldd", [program]);
  const paths = [...stdout.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)].map(([, path]) => path ?? "");
  return Promise.all([...new Set(paths)].map(entryOf));
}

async function entryOf(path: string): Promise<TarSpec> {
  return { path: path.slice(1), content: await readFile(await realpath(path)) };
}
