import { interrupted } from "../errors.ts";
import type { Directory } from "./directory.ts";
import { diskError } from "./disk-error.ts";
import { newHidden } from "./leftover.ts";
import { Place, type Run } from "./place.ts";

export interface LockOptions {
  readonly signal: AbortSignal;
  /** Told once when another run has to be waited for. */
  readonly onWait?: ((message: string) => void) | undefined;
}

/**
 * Becomes the one run of a name, waiting for others as long as it takes.
 *
 * Every run listens first and looks second, so of two runs at least one sees the other. Who sees a
 * run whose entry sorts lower goes away and waits for it; who sees one that sorts higher keeps its
 * place and waits for that one to go away or to end. So the lowest of those that wait is next,
 * without a pause of random length. An entry without a socket is a dead run or one about to listen;
 * the latter sees the former's killer when it looks, and finds its own socket gone.
 *
 * @throws LarderError `interrupted`, `disk`
 */
export async function lock(parent: Directory, name: string, options: LockOptions): Promise<Run> {
  const { signal } = options;
  let say = options.onWait;
  const onWait = (entry: string): void => {
    say?.(`another run is filling ${parent.path}/${name} (${entry}); waiting for it to end`);
    say = undefined;
  };
  for (;;) {
    const run = await claim(parent, name, onWait, signal);
    if (run !== undefined) return run;
  }
}

/** Becomes the one run of a name if nobody is; undefined otherwise. */
export async function tryLock(parent: Directory, name: string): Promise<Run | undefined> {
  const giveUp = new AbortController();
  try {
    return await claim(parent, name, () => giveUp.abort(), giveUp.signal);
  } catch (error) {
    if (giveUp.signal.aborted) return undefined;
    throw error;
  }
}

/** Undefined when this claim was given up for another's, which has ended by then. */
async function claim(
  parent: Directory,
  name: string,
  onWait: (entry: string) => void,
  signal: AbortSignal,
): Promise<Run | undefined> {
  const what = `cannot begin to fill ${parent.path}/${name}`;
  throwIfAborted(signal, what);
  const place = await Place.take(parent, newHidden(name)).catch((error: unknown) => {
    throw diskError(what, error);
  });
  if (place === undefined) return undefined;
  try {
    const run = await place.waitForTurn(onWait, signal);
    if (run === undefined) await place.leave();
    throwIfAborted(signal, what);
    return run;
  } catch (error) {
    await place.leave();
    throw diskError(what, error);
  }
}

function throwIfAborted(signal: AbortSignal, what: string): void {
  if (signal.aborted) throw interrupted(what, signal.reason);
}
