import { setImmediate } from "node:timers/promises";

/** Long enough that pausing costs nothing, short enough that signals and probes are answered. */
const sliceMs = 10;

/**
 * For loops over many synchronous calls, which cost a third of asynchronous ones: lets everything
 * else run now and then, and stops when told to.
 */
export class Slices {
  readonly #signal: AbortSignal | undefined;
  #count = 0;
  #until = performance.now() + sliceMs;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Pauses when it is time to. */
  pause(): Promise<void> | undefined {
    // The clock is looked at every now and then: it costs as much as a system call.
    this.#count += 1;
    if (this.#count % 16 !== 0) return undefined;
    const goesOn = this.#signal?.aborted !== true && performance.now() < this.#until;
    return goesOn ? undefined : this.#rest();
  }

  async #rest(): Promise<void> {
    await setImmediate();
    this.#signal?.throwIfAborted();
    this.#until = performance.now() + sliceMs;
  }
}
