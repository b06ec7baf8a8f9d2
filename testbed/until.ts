import { setTimeout as delay } from "node:timers/promises";

/** Far beyond what a machine under load needs: only what never comes fails. */
const boundMs = 20_000;

/**
 * Waits until a condition holds.
 *
 * @param what for the failure: `the connection is closed`
 */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + boundMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within ${boundMs / 1000} s: ${what}`);
    await delay(5);
  }
}
