import type { Clock } from "../registry/clock.ts";

/** Calls back once at the earliest time that it was set to since it last rang. */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #waiting: { readonly at: number; readonly cancel: AbortController } | undefined;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** @param at on the monotonic clock; what is past rings at once, but not within this call */
  set(at: number): void {
    if (this.#waiting !== undefined && this.#waiting.at <= at) return;
    this.clear();
    const waiting = { at, cancel: new AbortController() };
    this.#waiting = waiting;
    const delay = Math.max(at - this.#clock.monotonic(), 0);
    this.#clock.sleep(delay, waiting.cancel.signal).then(
      () => {
        if (this.#waiting !== waiting) return;
        this.#waiting = undefined;
        this.#ring();
      },
      () => {},
    );
  }

  clear(): void {
    this.#waiting?.cancel.abort();
    this.#waiting = undefined;
  }
}
