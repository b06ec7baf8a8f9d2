import type { EventInput, Occurrences } from "./event-object.ts";

/** A point in time on both clocks, in milliseconds: one that only grows, and the date. */
export interface Moment {
  readonly at: number;
  readonly date: number;
}

/** One thing that happened once or again and again, and what the cluster knows of it. */
export interface Series {
  readonly key: string;
  readonly group: string;
  readonly input: EventInput;
  readonly first: Moment;
  last: Moment;
  count: number;
  /** The name that its Event gets; the same for every try, so that one that succeeded unseen is known. */
  name?: string;
  /** How often the cluster believes that it happened; 0: it knows nothing yet. */
  told: number;
  /** Patches so far. */
  patches: number;
  /** The next repeat is not told before that (monotonic). */
  patchAt: number;
  /** Failed tries in a row, and when the next may be (monotonic). */
  failures: number;
  retryAt: number;
}

/** How repeats become a series, and what is forgotten when; times in milliseconds. */
export interface SeriesLimits {
  /** What does not repeat within that time has ended; what comes later is an Event of its own. */
  readonly gapMs: number;
  /** The first repeats are told after that time, further ones later and later, up to the longest. */
  readonly firstPatchMs: number;
  readonly longestPatchMs: number;
  /** What could not be told for so long is given up. */
  readonly staleMs: number;
  /** Different notes about one object for one reason; further ones are counted as one. */
  readonly mostNotes: number;
  /** Series that are remembered at one time. */
  readonly mostSeries: number;
}

export const seriesLimits: SeriesLimits = {
  gapMs: 6 * 60_000,
  firstPatchMs: 30_000,
  longestPatchMs: 10 * 60_000,
  staleMs: 5 * 60_000,
  mostNotes: 3,
  mostSeries: 64,
};

/**
 * What happened and is still to be told. Pure: it writes nothing and reads no clock. Counts that come
 * back are of occurrences that nobody will ever be told of.
 */
export class SeriesBook {
  readonly #limits: SeriesLimits;
  readonly #series = new Map<string, Series>();

  constructor(limits: SeriesLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#series.size;
  }

  /** It happened. @returns how many occurrences are given up for it */
  observe(input: EventInput, now: Moment): number {
    const given = this.forget(now);
    const { key, note } = this.#placeOf(input);
    const known = this.#series.get(key);
    if (known !== undefined && now.at - known.last.at <= this.#limits.gapMs) {
      known.count += 1;
      known.last = now;
      return given;
    }
    const dropped = known === undefined ? this.#makeRoom() : this.drop(known);
    if (dropped === undefined) return given + 1;
    this.#series.set(key, begin({ ...input, note }, key, now));
    return given + dropped;
  }

  /** Gives up what is too old. @returns how many occurrences */
  forget({ at }: Moment): number {
    const { gapMs, staleMs } = this.#limits;
    let given = 0;
    for (const series of this.#series.values()) {
      const silence = at - series.last.at;
      const over = series.told === 0 ? silence > staleMs : silence > gapMs + staleMs;
      const ended = !isUntold(series) && silence > gapMs;
      if (over || ended) given += this.drop(series);
    }
    return given;
  }

  /** What is to be told next: what nobody knows of yet comes first. */
  next(): { readonly series: Series; readonly dueAt: number } | undefined {
    let next: { series: Series; dueAt: number } | undefined;
    for (const series of this.#series.values()) {
      if (!isUntold(series)) continue;
      const dueAt = this.#dueAt(series);
      if (next === undefined || dueAt < next.dueAt) next = { series, dueAt };
    }
    return next;
  }

  /** Everything that is not told yet. */
  untold(): readonly Series[] {
    return [...this.#series.values()].filter(isUntold);
  }

  /** The cluster knows now that it happened `count` times. */
  succeeded(series: Series, count: number, { at }: Moment): void {
    const { firstPatchMs, longestPatchMs } = this.#limits;
    if (series.told > 0) series.patches += 1;
    series.told = count;
    series.failures = 0;
    series.patchAt = at + Math.min(longestPatchMs, firstPatchMs * 2 ** series.patches);
  }

  /** Telling it failed. @param retryAt monotonic */
  failed(series: Series, retryAt: number): void {
    series.failures += 1;
    series.retryAt = retryAt;
  }

  /** Its Event is no longer in the cluster, or its name is another's: it is told anew. */
  gone(series: Series): void {
    series.told = 0;
    delete series.name;
  }

  /** @returns how many of its occurrences nobody will be told of */
  drop(series: Series): number {
    if (this.#series.get(series.key) === series) this.#series.delete(series.key);
    return series.count - series.told;
  }

  /** A series that ended tells its last repeats then, however long patches are apart by now. */
  #dueAt({ told, patchAt, last, retryAt }: Series): number {
    const wanted = told === 0 ? -Infinity : Math.min(patchAt, last.at + this.#limits.gapMs);
    return Math.max(wanted, retryAt);
  }

  /** Which series it belongs to: its own, or the one for all notes beyond the first few. */
  #placeOf(input: EventInput): { readonly key: string; readonly note: string } {
    const group = groupOf(input);
    const key = JSON.stringify([group, input.note]);
    const notes = [...this.#series.values()].filter((series) => series.group === group);
    if (this.#series.has(key) || notes.length < this.#limits.mostNotes) {
      return { key, note: input.note };
    }
    return { key: group, note: `(one of several notes) ${input.note}` };
  }

  /** @returns what is given up for it; undefined: there is no room, everything waits to be told */
  #makeRoom(): number | undefined {
    if (this.#series.size < this.#limits.mostSeries) return 0;
    let oldest: Series | undefined;
    for (const series of this.#series.values()) {
      if (isUntold(series)) continue;
      if (oldest === undefined || series.last.at < oldest.last.at) oldest = series;
    }
    return oldest === undefined ? undefined : this.drop(oldest);
  }
}

export function occurrencesOf({ count, first, last }: Series): Occurrences {
  return { count, firstDate: first.date, lastDate: last.date };
}

function isUntold({ count, told }: Series): boolean {
  return count > told;
}

/** What has the same object, reason and kind, whatever its note says. */
function groupOf({ regarding, type, reason, action }: EventInput): string {
  const { uid, apiVersion, kind, namespace, name } = regarding;
  return JSON.stringify([uid ?? "", apiVersion, kind, namespace ?? "", name, type, reason, action]);
}

function begin(input: EventInput, key: string, now: Moment): Series {
  const group = groupOf(input);
  const untold = { told: 0, patches: 0, patchAt: 0, failures: 0, retryAt: -Infinity };
  return { key, group, input, first: now, last: now, count: 1, ...untold };
}
