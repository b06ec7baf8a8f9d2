import { systemClock, type Clock } from "../registry/clock.ts";
import { ApiError, hasStatus } from "./api-error.ts";
import { backoffMs, type BackoffLimits } from "./backoff.ts";
import { Bell } from "./bell.ts";
import type { Client } from "./client.ts";
import { boundedNote, eventName, eventObject, namespaceOf, seriesOf } from "./event-object.ts";
import type { EventInput, EventSource } from "./event-object.ts";
import { occurrencesOf, SeriesBook, seriesLimits } from "./event-series.ts";
import type { Moment, Series, SeriesLimits } from "./event-series.ts";
import { Rate, type RateLimits } from "./rate.ts";
import { events } from "./resource.ts";

export type { EventInput } from "./event-object.ts";

export interface EventLimits extends SeriesLimits {
  /** Requests, of which each costs the API server as much as any other: failed ones count. */
  readonly rate: RateLimits;
  /** Between two tries of one that failed. */
  readonly backoff: BackoffLimits;
  /** Milliseconds: no server makes it wait longer than that. */
  readonly longestRetryAfterMs: number;
}

/** Ten thousand agents may write at one object: at 30 s each that is 330 requests a second at worst. */
export const eventLimits: EventLimits = {
  ...seriesLimits,
  rate: { burst: 10, everyMs: 30_000 },
  backoff: { firstMs: 1_000, maxMs: 60_000 },
  longestRetryAfterMs: 60_000,
};

export interface EventRecorderOptions extends EventSource {
  readonly client: Pick<Client, "create" | "patch">;
  /** So many occurrences were given up: too many, too old, or refused. */
  readonly onDropped?: (occurrences: number) => void;
  /** A request that failed, of one that is tried again or given up. */
  readonly onError?: (error: unknown) => void;
  readonly clock?: Clock;
  /** From 0 up to, not including, 1. */
  readonly random?: () => number;
  readonly limits?: Partial<EventLimits>;
}

/**
 * Tells the cluster what happened, as Events (events.k8s.io/v1), within bounds: what repeats is one
 * Event whose series counts, what does not fit into the rate waits or is given up. An Event is a
 * courtesy: nothing waits for one, and nothing fails because of one.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #limits: EventLimits;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #book: SeriesBook;
  readonly #rate: Rate;
  readonly #bell: Bell;
  /** What the API server asked for (monotonic). */
  #pauseUntil = -Infinity;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#limits = { ...eventLimits, ...options.limits };
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#book = new SeriesBook(this.#limits);
    this.#rate = new Rate(this.#limits.rate, this.#clock);
    this.#bell = new Bell(this.#clock);
  }

  /** Takes note of what happened. Returns at once and never throws. */
  record(input: EventInput): void {
    this.#dropped(this.#book.observe(boundedNote(input), this.#now()));
    this.#bell.ring();
  }

  /** Writes until the signal aborts; never throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#dropped(this.#book.forget(this.#now()));
      const next = this.#book.next();
      const waitMs = next && this.#waitMs(next.dueAt);
      if (next !== undefined && waitMs === 0) await this.#write(next.series, signal);
      else await this.#bell.wait(waitMs, signal);
    }
  }

  /** After `run` has ended: one try for each thing that is not told yet, within the rate. Never throws. */
  async flush(signal: AbortSignal): Promise<void> {
    for (const series of this.#book.untold()) {
      if (signal.aborted || this.#rate.waitMs() > 0) return;
      await this.#write(series, signal);
    }
  }

  #waitMs(dueAt: number): number {
    const at = Math.max(dueAt, this.#pauseUntil);
    return Math.max(this.#rate.waitMs(), at - this.#clock.monotonic(), 0);
  }

  async #write(series: Series, signal: AbortSignal): Promise<void> {
    this.#rate.take();
    try {
      const told =
        series.told > 0 ? await this.#patch(series, signal) : await this.#create(series, signal);
      this.#book.succeeded(series, told, this.#now());
    } catch (error) {
      if (!signal.aborted) this.#failed(series, error);
    }
  }

  /** @returns how often the cluster believes now that it happened */
  async #create(series: Series, signal: AbortSignal): Promise<number> {
    const { input, count } = series;
    const name = (series.name ??= eventName(input, this.#clock.date(), this.#random()));
    const event = eventObject(name, input, this.#options, occurrencesOf(series));
    try {
      await this.#options.client.create(events, event, { signal });
      return count;
    } catch (error) {
      if (!hasStatus(error, 409) || error.reason !== "AlreadyExists") throw error;
      // An earlier try whose answer was lost; what happened since then may be missing from it.
      if (series.failures > 0) return 1;
      this.#book.gone(series);
      throw error;
    }
  }

  /** @returns how often the cluster believes now that it happened */
  async #patch(series: Series, signal: AbortSignal): Promise<number> {
    const { input, count, name = "" } = series;
    const patch = { series: seriesOf(occurrencesOf(series)) };
    const namespace = namespaceOf(input);
    await this.#options.client.patch(events, name, patch, { namespace, signal });
    return count;
  }

  #failed(series: Series, error: unknown): void {
    const now = this.#clock.monotonic();
    // Events live for an hour, and somebody may have deleted it.
    if (series.told > 0 && hasStatus(error, 404)) {
      this.#book.gone(series);
      return;
    }
    this.#options.onError?.(error);
    if (isFinal(error)) this.#dropped(this.#book.drop(series));
    else {
      const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
      this.#pauseUntil = now + Math.min(asked, this.#limits.longestRetryAfterMs);
      const delayMs = backoffMs(series.failures + 1, this.#random(), this.#limits.backoff);
      this.#book.failed(series, now + delayMs);
    }
  }

  #dropped(occurrences: number): void {
    if (occurrences > 0) this.#options.onDropped?.(occurrences);
  }

  #now(): Moment {
    return { at: this.#clock.monotonic(), date: this.#clock.date() };
  }
}

/** Whether the API server will not take it, ever. The namespace of a cluster that is new comes soon. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.retryable) return false;
  return error.status >= 400 && ![404, 409].includes(error.status);
}
