import { backoffMs, type BackoffLimits } from "../kube/backoff.ts";
import type { Clock } from "../registry/clock.ts";
import { Alarm } from "./alarm.ts";
import type { CacheSpec } from "./cache-spec.ts";

/** One resource to be brought onto the disk. */
export interface Job {
  readonly cache: CacheSpec;
  /** Fill what looks complete: a file differs from its checksum, or its tag moved. */
  readonly force: boolean;
  /** What was seen on the disk. When that changes, a failure of before counts no more. */
  readonly because: string;
  /** Monotonic milliseconds before which it is not to start. */
  readonly notBefore: number;
}

/** @param alive to be called whenever something was received */
export type Pull = (job: Job, signal: AbortSignal, alive: () => void) => Promise<void>;

export interface PullsOptions {
  /** How many pulls may be getting on at a time. */
  readonly atOnce: number;
  readonly pull: Pull;
  /** Told of every end but a cancelled one. */
  readonly onEnd: (job: Job, error: unknown) => void;
  readonly clock: Clock;
  readonly random: () => number;
}

const backoff: BackoffLimits = { firstMs: 1000, maxMs: 5 * 60 * 1000 };
/** A pull that received nothing for so long waits for a server, and makes room for another. */
const stalledMs = 5000;
/** However many are stalled, no more than this multiple of `atOnce` run. */
const mostOver = 4;
/** Who is wanted again so soon after it was brought is being destroyed by somebody. */
const soonMs = 60_000;
/** So many repairs in a row do not wait: a person at work breaks more than one file. */
const freeRepairs = 8;

interface Entry {
  job: Job;
  /** In a row. */
  failures: number;
  /** Monotonic; not before that. */
  retryAt: number;
  running?: { readonly controller: AbortController; aliveAt: number };
}

/**
 * Runs the pulls that are wanted, a few at a time, each with its own backoff, so that one that cannot
 * succeed holds up none that can.
 */
export class Pulls {
  readonly #options: PullsOptions;
  readonly #entries = new Map<string, Entry>();
  /** Cancelled ones that have not ended yet: their name waits for that. */
  readonly #ending = new Map<string, Promise<void>>();
  readonly #running = new Set<Promise<void>>();
  readonly #done = new Map<string, { readonly at: number; readonly times: number }>();
  readonly #alarm: Alarm;
  #stopped = false;

  constructor(options: PullsOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, () => {
      this.#schedule();
    });
  }

  /** Names of the resources that are being pulled right now. */
  get running(): readonly string[] {
    return [...this.#entries].filter(([, { running }]) => running !== undefined).map(([n]) => n);
  }

  /**
   * What shall be brought from now on. What is no longer wanted is cancelled.
   *
   * @param lookedAt monotonic milliseconds when the look at the disk began that the wishes come from:
   *   of what was brought since, it tells nothing
   */
  want(jobs: readonly Job[], lookedAt = Infinity): void {
    if (this.#stopped) return;
    const isOpen = ({ cache }: Job): boolean =>
      (this.#done.get(cache.name)?.at ?? -Infinity) < lookedAt;
    const wanted = new Map(jobs.filter(isOpen).map((job) => [job.cache.name, job]));
    for (const [name, entry] of this.#entries) {
      const job = wanted.get(name);
      if (job === undefined || !sameImage(job, entry.job)) this.#drop(name, entry);
    }
    for (const [name, job] of wanted) this.#take(name, job);
    this.#forgetOld();
    this.#schedule();
  }

  /** Cancels everything and waits until it has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#alarm.clear();
    for (const [name, entry] of this.#entries) this.#drop(name, entry);
    await Promise.all(this.#running);
  }

  #take(name: string, job: Job): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) {
      this.#entries.set(name, { job, failures: 0, retryAt: this.#earliest(name) });
      return;
    }
    if (entry.running !== undefined) return;
    if (job.because !== entry.job.because) Object.assign(entry, { failures: 0, retryAt: 0 });
    entry.job = job;
  }

  #drop(name: string, { running }: Entry): void {
    this.#entries.delete(name);
    running?.controller.abort();
  }

  /** Repairs come at once; whatever destroys it again and again is not raced. */
  #earliest(name: string): number {
    const done = this.#done.get(name);
    if (done === undefined || done.times <= freeRepairs) return 0;
    return done.at + this.#backoff(done.times - freeRepairs);
  }

  #forgetOld(): void {
    const now = this.#options.clock.monotonic();
    for (const [name, { at }] of this.#done) if (now - at > soonMs) this.#done.delete(name);
  }

  #schedule(): void {
    if (this.#stopped) return;
    const now = this.#options.clock.monotonic();
    const ready = [...this.#entries]
      .filter(([name, { running }]) => running === undefined && !this.#ending.has(name))
      .sort(([, a], [, b]) => a.failures - b.failures || startOf(a) - startOf(b));
    let room = this.#room(now);
    for (const [name, entry] of ready) {
      const at = startOf(entry);
      if (at > now) this.#alarm.set(at);
      else if (room > 0) {
        this.#start(name, entry);
        room -= 1;
      } else this.#alarm.set(now + stalledMs / 5);
    }
  }

  /** How many pulls may be started now. */
  #room(now: number): number {
    const running = [...this.#entries.values()].flatMap((entry) => entry.running ?? []);
    const busy = running.filter(({ aliveAt }) => now - aliveAt < stalledMs);
    const { atOnce } = this.#options;
    return Math.min(atOnce - busy.length, atOnce * mostOver - running.length);
  }

  #start(name: string, entry: Entry): void {
    const { clock, pull } = this.#options;
    const controller = new AbortController();
    const running = { controller, aliveAt: clock.monotonic() };
    entry.running = running;
    const { job } = entry;
    const alive = (): void => {
      running.aliveAt = clock.monotonic();
    };
    const work = pull(job, controller.signal, alive)
      .then(
        () => {
          this.#ended(name, entry, job, undefined);
        },
        (error: unknown) => {
          this.#ended(name, entry, job, error);
        },
      )
      .finally(() => {
        this.#running.delete(work);
        if (this.#ending.get(name) === work) this.#ending.delete(name);
        this.#schedule();
      });
    this.#running.add(work);
    controller.signal.addEventListener("abort", () => this.#ending.set(name, work), { once: true });
  }

  #ended(name: string, entry: Entry, job: Job, error: unknown): void {
    if (this.#entries.get(name) !== entry) return;
    const now = this.#options.clock.monotonic();
    delete entry.running;
    if (error === undefined) {
      this.#entries.delete(name);
      this.#done.set(name, { at: now, times: (this.#done.get(name)?.times ?? 0) + 1 });
    } else {
      entry.failures += 1;
      entry.retryAt = now + this.#backoff(entry.failures);
    }
    this.#options.onEnd(job, error);
  }

  #backoff(times: number): number {
    return backoffMs(times, this.#options.random(), backoff);
  }
}

function startOf({ job, retryAt }: Entry): number {
  return Math.max(job.notBefore, retryAt);
}

/** Whether a pull that was begun for the one serves the other. */
function sameImage(a: Job, b: Job): boolean {
  return (
    a.cache.uid === b.cache.uid &&
    a.cache.source === b.cache.source &&
    a.cache.cachePath === b.cache.cachePath
  );
}
