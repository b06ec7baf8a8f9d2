import type { Clock } from "../registry/clock.ts";

/** Timers of Node take no more than 2^31 ms; who waits for longer is woken once in between. */
const longestSleepMs = 2 ** 30;

/** Lets one loop wait for its next time, or for news, whichever is first. Leaves no timer behind. */
export class Bell {
  readonly #clock: Pick<Clock, "sleep">;
  #rung = false;
  #wake = (): void => {};

  constructor(clock: Pick<Clock, "sleep">) {
    this.#clock = clock;
  }

  /** There is news. Ringing while nobody waits ends the next wait at once. */
  ring(): void {
    this.#rung = true;
    this.#wake();
  }

  /**
   * Returns when it rings, when the time is over (it may be earlier: look again), or when the signal
   * aborts.
   *
   * @param milliseconds undefined: only news end the wait
   */
  async wait(milliseconds: number | undefined, signal: AbortSignal): Promise<void> {
    if (!this.#rung && !signal.aborted) await this.#sleep(milliseconds, signal);
    this.#rung = false;
  }

  async #sleep(milliseconds: number | undefined, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const wake = (): void => {
      woken.abort();
    };
    this.#wake = wake;
    signal.addEventListener("abort", wake, { once: true });
    try {
      await (milliseconds === undefined
        ? aborted(woken.signal)
        : this.#clock.sleep(Math.min(milliseconds, longestSleepMs), woken.signal));
    } catch (error) {
      if (!woken.signal.aborted) throw error;
    } finally {
      this.#wake = () => {};
      signal.removeEventListener("abort", wake);
    }
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    signal.addEventListener(
      "abort",
      () => {
        resolve();
      },
      { once: true },
    );
  });
}
