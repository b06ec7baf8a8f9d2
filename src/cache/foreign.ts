import { LarderError } from "../errors.ts";
import { kindOf } from "../image/file-kind.ts";
import type { Directory } from "./directory.ts";
import { sentinelName } from "./sentinel.ts";

/**
 * What stands under a name and is not Larder's, as in `a directory without a sentinel`; undefined
 * where nothing does, or what does is Larder's. Throws the system's errors.
 */
export function findForeign(parent: Directory, name: string): string | undefined {
  const found = parent.lookUp(name);
  if (found === undefined) return undefined;
  if (!found.isDirectory()) return kindOf(found);
  const marked = parent.lookUp(`${name}/${sentinelName}`) !== undefined;
  return marked ? undefined : "a directory without a sentinel";
}

/** The refusal to fill over what is not Larder's. */
export function foreignError(parent: Directory, name: string, what: string): LarderError {
  return new LarderError("foreign", {
    what: `cannot fill ${parent.path}/${name}`,
    why: `${what} stands there, which Larder did not make and never replaces`,
    todo: "move it away or remove it by hand, then run this again",
  });
}
