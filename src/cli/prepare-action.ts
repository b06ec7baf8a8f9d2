import { checkCachePath } from "../cache/names.ts";
import { prepare } from "../cache/prepare.ts";
import { LarderError } from "../errors.ts";
import type { Shell } from "./shell.ts";

/** Does what a command line of `larder prepare` says; returns the exit code. */
export async function prepareAll(
  given: { readonly uid: string; readonly gid: string | undefined },
  operands: readonly string[],
  shell: Shell,
): Promise<number> {
  const paths = operands.map(checkCachePath);
  const uid = parseId("--uid", given.uid);
  const gid = given.gid === undefined ? uid : parseId("--gid", given.gid);
  await prepare(paths, { uid, gid, signal: shell.signal });
  for (const path of paths) shell.out.write(`${path}: handed to ${uid}:${gid}\n`);
  return 0;
}

/** The highest number that is an id: the one above it means "no change" to chown. */
const highest = 2 ** 32 - 2;

function parseId(flag: string, text: string): number {
  const id = Number(text);
  if (/^\d{1,10}$/.test(text) && id <= highest) return id;
  throw new LarderError("usage", {
    what: `${flag} is '${text}'`,
    why: `it must be a number from 0 to ${highest}`,
    todo: "write the number that 'id' shows, as in 65532",
  });
}
