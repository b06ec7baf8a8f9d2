import { LarderError } from "../errors.ts";
import { systemClock, type Clock } from "../registry/clock.ts";
import { ApiError } from "./api-error.ts";
import { backoffMs } from "./backoff.ts";
import type { Client } from "./client.ts";
import { Follower, type Sink } from "./follower.ts";
import { informerLimits, type InformerLimits } from "./informer-limits.ts";
import type { KubeObject } from "./object.ts";
import { Replica, type Change, type Entry } from "./replica.ts";
import type { Resource } from "./resource.ts";
import type { Selection } from "./selection.ts";

export type { Change } from "./replica.ts";

export interface InformerState {
  /** A list was complete once. */
  readonly synced: boolean;
  /** A watch is open. */
  readonly live: boolean;
  /** Why it is not live: what failed last. */
  readonly why?: LarderError;
}

export interface InformerOptions<T> extends Selection {
  readonly client: Pick<Client, "pages" | "watch">;
  readonly resource: Resource;
  /**
   * What is kept of an object; undefined leaves it out. Called once for each state of each object; one
   * for which it throws is left out and told to `onProblem`.
   */
  readonly parse: (object: KubeObject) => T | undefined;
  /** Called after the informer has changed; what it throws is told to `onProblem`. */
  readonly onChange: (change: Change<T>) => void;
  /** Called when the state is another one. */
  readonly onState?: (state: InformerState) => void;
  /** An object that cannot be parsed, or a change that could not be handled. */
  readonly onProblem?: (name: string, error: unknown) => void;
  /** False: lists are read page by page from the beginning. Default true, where the server can. */
  readonly streamed?: boolean;
  readonly clock?: Clock;
  /** From 0 up to 1. */
  readonly random?: () => number;
  readonly limits?: Partial<InformerLimits>;
}

/**
 * The objects of one kind, kept current: what was parsed of them, and what changed. What it knows stays
 * visible while the API server is away; a list that fails changes nothing.
 */
export class Informer<T> {
  readonly #options: InformerOptions<T>;
  readonly #limits: InformerLimits;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #replica: Replica<T>;
  readonly #follower: Follower;
  #list = new Map<string, Entry<T>>();
  #state: InformerState = { synced: false, live: false };
  #liveSince = 0;
  #failures = 0;

  constructor(options: InformerOptions<T>) {
    const { client, resource, namespace, labelSelector, fieldSelector, streamed } = options;
    this.#options = options;
    this.#limits = { ...informerLimits, ...options.limits };
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#replica = new Replica({
      nameOf: ({ metadata }) => this.#nameOf(metadata.namespace, metadata.name),
      parse: (object) => this.#parse(object),
    });
    this.#follower = new Follower({
      client,
      resource,
      selection: { namespace, labelSelector, fieldSelector },
      limits: this.#limits,
      clock: this.#clock,
      random: this.#random,
      streamed: streamed ?? true,
      sink: this.#sink(),
    });
  }

  /** @param name `namespace/name` where objects of all namespaces are watched */
  get(name: string): T | undefined {
    return this.#replica.get(name);
  }

  values(): Iterable<T> {
    return this.#replica.values();
  }

  get size(): number {
    return this.#replica.size;
  }

  /** A list was complete once. */
  get synced(): boolean {
    return this.#state.synced;
  }

  /** A watch is open. One that ends by its time and is resumed stays live. */
  get live(): boolean {
    return this.#state.live;
  }

  /** Keeps itself current until the signal aborts; never throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#follower.follow(signal);
      } catch (error) {
        if (signal.aborted) break;
        const delay = this.#failed(asLarderError(error));
        await this.#clock.sleep(delay, signal).catch(() => {});
      }
    }
    this.#become({ synced: this.synced, live: false });
  }

  /** @returns milliseconds until the next try */
  #failed(why: LarderError): number {
    const lasted = this.live ? this.#clock.monotonic() - this.#liveSince : 0;
    this.#failures = lasted >= this.#limits.calmMs ? 1 : this.#failures + 1;
    this.#list = new Map();
    this.#become({ synced: this.synced, live: false, why });
    const asked = why instanceof ApiError ? (why.retryAfterMs ?? 0) : 0;
    const own = backoffMs(this.#failures, this.#random(), this.#limits.backoff);
    return Math.max(own, Math.min(asked, this.#limits.longestRetryAfterMs));
  }

  #sink(): Sink {
    return {
      begin: () => {
        this.#list = new Map();
      },
      item: (object) => {
        this.#replica.collect(this.#list, object);
      },
      dropped: ({ metadata }) => {
        this.#list.delete(this.#nameOf(metadata.namespace, metadata.name));
      },
      listed: () => {
        const first = !this.synced;
        const changes = this.#replica.replace(this.#list);
        this.#list = new Map();
        // Who asks while changes are told sees a whole list.
        this.#state = { ...this.#state, synced: true };
        this.#tell(changes);
        if (first) this.#options.onState?.(this.#state);
      },
      open: () => {
        if (!this.live) this.#liveSince = this.#clock.monotonic();
        this.#become({ synced: this.synced, live: true });
      },
      put: (object) => {
        this.#tell(this.#replica.put(object));
      },
      remove: (object) => {
        this.#tell(this.#replica.remove(object));
      },
    };
  }

  #tell(changes: readonly Change<T>[]): void {
    for (const change of changes) {
      try {
        this.#options.onChange(change);
      } catch (error) {
        this.#options.onProblem?.(change.name, error);
      }
    }
  }

  #become(state: InformerState): void {
    const { synced, live, why } = this.#state;
    this.#state = state;
    if (synced === state.synced && live === state.live && why === state.why) return;
    this.#options.onState?.(state);
  }

  #nameOf(namespace: string | undefined, name: string): string {
    return namespace === undefined || this.#options.namespace !== undefined
      ? name
      : `${namespace}/${name}`;
  }

  #parse(object: KubeObject): T | undefined {
    try {
      return this.#options.parse(object);
    } catch (error) {
      const { namespace, name } = object.metadata;
      this.#options.onProblem?.(this.#nameOf(namespace, name), error);
      return undefined;
    }
  }
}

function asLarderError(error: unknown): LarderError {
  if (error instanceof LarderError) return error;
  return new LarderError("internal", {
    what: "cannot keep objects current",
    why: error instanceof Error ? error.message : "it failed",
    todo: "report it: this is a fault of Larder's",
    cause: error,
  });
}
