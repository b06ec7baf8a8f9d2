import { interrupted } from "../errors.ts";

/**
 * Waits for work that others may share: an abort ends the wait and not the work.
 * @param what what is waited for, for the error
 * @throws LarderError `interrupted`, or what the work throws
 */
export async function untilAborted<T>(
  work: Promise<T>,
  what: string,
  signal: AbortSignal,
): Promise<T> {
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(interrupted(`cannot get ${what}`, signal.reason));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
