import type { EventEmitter } from "node:events";

const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

type Name = keyof typeof exitCodes;

const names = Object.keys(exitCodes) as readonly Name[];

/** How long what an interruption sets off may take, in milliseconds from the first signal. */
export interface Patience {
  /** Until cleaning up stops where it is. */
  readonly cleaningMs: number;
  /** Until the process ends, whatever it is at. */
  readonly endingMs: number;
}

const patience: Patience = { cleaningMs: 1800, endingMs: 2500 };

/**
 * The first signal asks for a clean end; when that takes long, for one that leaves the rest of the
 * cleaning to the next run. The second signal, or an end that takes longer still, forces one.
 */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #hurry = new AbortController();
  readonly #listeners = new Map<Name, () => void>();
  readonly #source: EventEmitter;
  #first: Name | undefined;
  #timers: readonly NodeJS.Timeout[] = [];

  /**
   * @param source emits signals by name, as `process` does
   * @param force ends the process at once, with this exit code
   */
  constructor(
    source: EventEmitter,
    force: (exitCode: number) => void,
    { cleaningMs, endingMs } = patience,
  ) {
    this.#source = source;
    for (const name of names) {
      const end = (): void => {
        force(exitCodes[name]);
      };
      const listener = (): void => {
        if (this.#first !== undefined) {
          end();
          return;
        }
        this.#first = name;
        const hurry = (): void => {
          this.#hurry.abort();
        };
        this.#timers = [setTimeout(hurry, cleaningMs), setTimeout(end, endingMs)];
        this.#controller.abort();
      };
      this.#listeners.set(name, listener);
      source.on(name, listener);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts when cleaning up has taken long enough. */
  get hurry(): AbortSignal {
    return this.#hurry.signal;
  }

  /** 128 and the number of the signal that came; undefined when none did. */
  get exitCode(): number | undefined {
    return this.#first === undefined ? undefined : exitCodes[this.#first];
  }

  dispose(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    for (const [name, listener] of this.#listeners) this.#source.off(name, listener);
  }
}
