import type { EventEmitter } from "node:events";

const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

type Name = keyof typeof exitCodes;

const names = Object.keys(exitCodes) as readonly Name[];

/** The first signal asks for a clean end; the second, or too long a clean end, forces one. */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #listeners = new Map<Name, () => void>();
  readonly #source: EventEmitter;
  #first: Name | undefined;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param source emits signals by name, as `process` does
   * @param force ends the process at once, with this exit code
   * @param patienceMs how long a clean end may take
   */
  constructor(source: EventEmitter, force: (exitCode: number) => void, patienceMs = 2500) {
    this.#source = source;
    for (const name of names) {
      const listener = (): void => {
        if (this.#first !== undefined) {
          force(exitCodes[name]);
          return;
        }
        this.#first = name;
        this.#timer = setTimeout(() => {
          force(exitCodes[name]);
        }, patienceMs);
        this.#controller.abort();
      };
      this.#listeners.set(name, listener);
      source.on(name, listener);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** 128 and the number of the signal that came; undefined when none did. */
  get exitCode(): number | undefined {
    return this.#first === undefined ? undefined : exitCodes[this.#first];
  }

  dispose(): void {
    clearTimeout(this.#timer);
    for (const [name, listener] of this.#listeners) this.#source.off(name, listener);
  }
}
