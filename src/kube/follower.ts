import { interrupted } from "../errors.ts";
import type { Clock } from "../registry/clock.ts";
import { afterSilence } from "../registry/silence.ts";
import { ApiError, hasStatus } from "./api-error.ts";
import type { Client, WatchEvent } from "./client.ts";
import { isOlder } from "./history.ts";
import { timeoutOf, type InformerLimits } from "./informer-limits.ts";
import type { KubeObject } from "./object.ts";
import { shownPlace, type Resource } from "./resource.ts";
import type { Selection } from "./selection.ts";

/** Who is told what list and watch say. */
export interface Sink {
  /** A list begins: what `item` said since the last one is void. */
  begin(): void;
  /** One object of the list, or its newer state. */
  item(object: KubeObject): void;
  /** An object of the list went while the list was read. */
  dropped(object: KubeObject): void;
  /** The list is complete. */
  listed(): void;
  /** A watch is open that misses nothing since the list. */
  open(): void;
  /** An event: the object is there, in this state. */
  put(object: KubeObject): void;
  /** An event: the object is gone. */
  remove(object: KubeObject): void;
}

export interface FollowerOptions {
  readonly client: Pick<Client, "pages" | "watch">;
  readonly resource: Resource;
  readonly selection: Selection;
  readonly limits: InformerLimits;
  readonly clock: Pick<Clock, "monotonic">;
  readonly random: () => number;
  /** Whether lists are asked for as the beginning of a watch. */
  readonly streamed: boolean;
  readonly sink: Sink;
}

/** List and watch of one kind, as the API server speaks it: one list, and watches from there. */
export class Follower {
  readonly #options: FollowerOptions;
  readonly #what: string;
  /** False once the server refused it; that is remembered for the life of this process. */
  #streamed: boolean;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#what = shownPlace(options.resource, { namespace: options.selection.namespace });
    this.#streamed = options.streamed;
  }

  /**
   * One list, then watch after watch, each resumed where the one before stopped: as long as they end
   * because their time is over. Whatever else happens may have led to another history.
   *
   * @throws ApiError; LarderError `interrupted` when the signal aborts. It never returns.
   */
  async follow(signal: AbortSignal): Promise<never> {
    let position = this.#streamed ? await this.#stream(signal) : await this.#list(signal);
    for (;;) position = await this.#watch(position, signal);
  }

  /** @returns the resourceVersion of the list */
  async #list(signal: AbortSignal): Promise<string> {
    const { client, resource, selection, sink } = this.#options;
    let resourceVersion = "";
    sink.begin();
    for await (const page of client.pages(resource, { ...selection, signal })) {
      for (const object of page.items) sink.item(object);
      ({ resourceVersion } = page);
    }
    sink.listed();
    return resourceVersion;
  }

  /** A watch from a point in history. @returns where it stopped */
  async #watch(from: string, signal: AbortSignal): Promise<string> {
    const { sink } = this.#options;
    const time = this.#time();
    let position = from;
    const watch = this.#open(time.seconds, signal, {
      resourceVersion: from,
      onOpen: () => {
        sink.open();
      },
    });
    for await (const event of watch) position = this.#after(position, event);
    time.check();
    return position;
  }

  /** A watch that begins with the list. @returns where it stopped, or the list that took its place */
  async #stream(signal: AbortSignal): Promise<string> {
    const { sink, limits } = this.#options;
    const time = this.#time();
    const stalled = new AbortController();
    const silence = afterSilence(limits.listSilenceMs, (stall) => {
      stalled.abort(stall);
    });
    let position: string | undefined;
    sink.begin();
    try {
      const both = AbortSignal.any([signal, stalled.signal]);
      for await (const event of this.#open(time.seconds, both, { sendInitialEvents: true })) {
        if (position !== undefined) position = this.#after(position, event);
        else {
          silence.restart();
          position = this.#initial(event);
          if (position !== undefined) silence.stop();
        }
      }
    } catch (error) {
      if (signal.aborted) throw interrupted(`cannot watch ${this.#what}`, signal.reason);
      if (stalled.signal.aborted) throw this.#endless(stalled.signal.reason);
      if (position !== undefined || !isRefusal(error)) throw error;
      this.#streamed = false;
      return await this.#list(signal);
    } finally {
      silence.stop();
    }
    if (position === undefined) throw this.#broken("it ended before its list was complete");
    time.check();
    return position;
  }

  /** One event of the list at the beginning. @returns its resourceVersion once it is complete */
  #initial(event: WatchEvent): string | undefined {
    const { sink } = this.#options;
    // What happens before the list is complete is said in between.
    if (event.type === "DELETED") sink.dropped(event.object);
    else if (event.type !== "BOOKMARK") sink.item(event.object);
    if (event.type !== "BOOKMARK") return undefined;
    // A server that sends its usual bookmarks has not understood what it was asked.
    if (!event.initialEventsEnd) throw new NotStreamed();
    sink.listed();
    sink.open();
    return event.resourceVersion;
  }

  /** One event of a watch. @returns where the history stands after it */
  #after(position: string, event: WatchEvent): string {
    const { sink } = this.#options;
    const now =
      event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.resourceVersion;
    if (now !== undefined && isOlder(now, position)) {
      throw this.#broken(`its history went back, from ${position} to ${now}`);
    }
    if (event.type === "DELETED") sink.remove(event.object);
    else if (event.type !== "BOOKMARK") sink.put(event.object);
    return now ?? position;
  }

  #open(
    timeoutSeconds: number,
    signal: AbortSignal,
    rest: { resourceVersion?: string; sendInitialEvents?: true; onOpen?: () => void },
  ): AsyncIterable<WatchEvent> {
    const { client, resource, selection, limits } = this.#options;
    const { silenceMs } = limits;
    return client.watch(resource, { ...selection, ...rest, timeoutSeconds, silenceMs, signal });
  }

  /** How long a watch is to last; `check` throws where it did not. */
  #time(): { readonly seconds: number; check(): void } {
    const { clock, random, limits } = this.#options;
    const seconds = timeoutOf(random(), limits);
    const begun = clock.monotonic();
    return {
      seconds,
      check: () => {
        const left = begun + seconds * 1000 - clock.monotonic();
        if (left > limits.earlyMs) throw this.#broken("it ended before its time");
      },
    };
  }

  #endless(cause: unknown): ApiError {
    const seconds = this.#options.limits.listSilenceMs / 1000;
    return this.#broken(`its list stopped before it was complete, for ${seconds} s`, cause);
  }

  #broken(why: string, cause?: unknown): ApiError {
    return new ApiError({
      status: 0,
      what: `cannot watch ${this.#what}`,
      why,
      todo: "nothing, if the API server was restarted: it is listed again; else look at its log",
      cause,
      retryable: true,
    });
  }
}

class NotStreamed extends Error {}

/** Servers that cannot stream lists say so with 400 or 422, or do not understand. */
function isRefusal(error: unknown): boolean {
  return error instanceof NotStreamed || hasStatus(error, 400, 422);
}
