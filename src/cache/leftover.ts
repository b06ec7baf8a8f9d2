import { randomBytes } from "node:crypto";

import { isName } from "./names.ts";

/** A hidden directory of a run, live or dead. */
export interface Hidden {
  /** The directory's own name, as in `.worker-134-0-0.tmp-4f1d09c2a77be310`. */
  readonly entry: string;
  /** The resource that it was made for. */
  readonly name: string;
}

/**
 * Takes the name of a run's hidden directory apart; undefined for everything else. The random part
 * has no dot, so one entry belongs to one resource, even where resources are called `a` and `a.tmp-b`.
 */
export function parseHidden(entry: string): Hidden | undefined {
  const name = /^\.(.+)\.tmp-[^.]+$/s.exec(entry)?.[1];
  return name === undefined || !isName(name) ? undefined : { entry, name };
}

/** A fresh name for a run's hidden directory. */
export function newHidden(name: string): Hidden {
  return { entry: `.${name}.tmp-${randomBytes(8).toString("hex")}`, name };
}
