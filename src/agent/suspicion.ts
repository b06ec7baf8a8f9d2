/** Milliseconds. */
export interface SuspicionTimes {
  /** Without an event: then it is looked at. */
  readonly quietMs: number;
  /** With events all the time: then it is looked at even so, for the first time. */
  readonly mostMs: number;
  /** What `mostMs` grows to, doubled with each such look. */
  readonly longestMs: number;
}

export interface Verdict {
  /** It is to be looked at now, which counts as done. */
  readonly look: boolean;
  /** It has been quiet: nothing is suspected any more. */
  readonly over: boolean;
}

const wait: Verdict = { look: false, over: false };

/** When a file that events name is looked at. Times are a clock's milliseconds. */
export class Suspicion {
  readonly #times: SuspicionTimes;
  /** The first event, or the last look. */
  #since: number;
  #lastEvent: number;
  #mostMs: number;
  /** Something happened since the last look. */
  #fresh = true;

  constructor(now: number, times: SuspicionTimes) {
    this.#times = times;
    this.#since = now;
    this.#lastEvent = now;
    this.#mostMs = times.mostMs;
  }

  /** Something happened to it. */
  happened(now: number): void {
    this.#lastEvent = now;
    this.#fresh = true;
  }

  /** When to judge it again. */
  get dueAt(): number {
    const forced = this.#fresh ? this.#since + this.#mostMs : Infinity;
    return Math.min(this.#quietAt, forced);
  }

  judge(now: number): Verdict {
    if (now < this.dueAt) return wait;
    const verdict = { look: this.#fresh, over: now >= this.#quietAt };
    this.#fresh = false;
    this.#since = now;
    this.#mostMs = Math.min(this.#mostMs * 2, this.#times.longestMs);
    return verdict;
  }

  get #quietAt(): number {
    return this.#lastEvent + this.#times.quietMs;
  }
}
