/** Two versions of one cache image, as archives, and what a directory filled from each holds. */
import { readFile, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { join } from "node:path";

import { buildImage, dockerArchive } from "../../testbed/image-builder.ts";

export interface Version {
  readonly archive: string;
  readonly content: ReadonlyMap<string, Buffer>;
}

/**
 * @param files how many small files besides the three big ones: few are flushed one by one, many
 *   all at once
 */
export async function writeVersion(dir: string, version: string, files: number): Promise<Version> {
  const content = new Map<string, Buffer>();
  for (let n = 0; n < 3; n++) content.set(`big-${n}.tar`, noise(`${version} ${n}`, 700_000 + n));
  for (let n = 0; n < files; n++)
    content.set(`small-${n}.tar`, noise(`${version} small ${n}`, 3000));
  content.set("same.tar", noise("the same in both", 5000));
  const entries = [...content].map(([path, bytes]) => ({ path, content: bytes }));
  const layers = [0, 1].map((layer) => ({ entries: entries.filter((_, n) => n % 2 === layer) }));
  const image = buildImage({ layers });
  const archive = join(dir, `${version}.tar`);
  await writeFile(archive, dockerArchive([{ image, tags: [`app:${version}`] }]));
  return { archive, content };
}

/** The first file that is not what this version says; undefined when all are. */
export async function firstDifference(dir: string, version: Version): Promise<string | undefined> {
  for (const [name, expected] of version.content) {
    const actual = await readFile(join(dir, name)).catch(() => undefined);
    if (actual?.equals(expected) !== true) return name;
  }
  return undefined;
}

function noise(seed: string, bytes: number): Buffer {
  return createHash("shake256", { outputLength: bytes }).update(seed).digest();
}
