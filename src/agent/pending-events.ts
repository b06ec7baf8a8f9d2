/** Something happened below a cache path. */
export interface CacheEvent {
  readonly path: string;
  /** The resource's directory that it happened to or in; undefined for the cache path itself. */
  readonly name?: string;
  /** The file in it; undefined for the directory itself, or where anything in it may have changed. */
  readonly file?: string;
}

/**
 * The kernel keeps 16,384 events for a process that does not come to read them, and drops the rest
 * without Node's telling. Half of that in one go is taken for such a loss, which also bounds memory.
 */
const mostAtOnce = 8192;

/** Events on their way, equal ones as one, handed over once what is there now has been read. */
export class PendingEvents {
  readonly #onEvent: (event: CacheEvent) => void;
  readonly #onLoss: () => void;
  readonly #events = new Map<string, CacheEvent>();
  #count = 0;
  #flush: NodeJS.Immediate | undefined;

  /** @param onLoss called, in place of the events, when too many came for none to be missing */
  constructor(onEvent: (event: CacheEvent) => void, onLoss: () => void) {
    this.#onEvent = onEvent;
    this.#onLoss = onLoss;
  }

  add(event: CacheEvent): void {
    this.#count += 1;
    if (this.#count <= mostAtOnce) {
      this.#events.set(JSON.stringify([event.path, event.name, event.file]), event);
    }
    this.#flush ??= setImmediate(() => {
      this.#handOver();
    });
  }

  clear(): void {
    this.#events.clear();
    this.#count = 0;
    clearImmediate(this.#flush);
    this.#flush = undefined;
  }

  #handOver(): void {
    const events = [...this.#events.values()];
    const lost = this.#count > mostAtOnce;
    this.clear();
    if (lost) this.#onLoss();
    else for (const event of events) this.#onEvent(event);
  }
}
