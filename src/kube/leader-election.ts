import { randomUUID } from "node:crypto";

import { LarderError } from "../errors.ts";
import { systemClock, type Clock } from "../registry/clock.ts";
import type { Client } from "./client.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { leaseLimits, type LeaseLimits } from "./lease-limits.ts";

export interface LeaderElectionOptions {
  readonly client: Pick<Client, "get" | "create" | "update">;
  /** The Lease that all candidates of one election share. */
  readonly namespace: string;
  readonly name: string;
  /** Who this is, for people: the pod's name. Something random is added, so that no two are one. */
  readonly instance: string;
  /**
   * Leads. The signal aborts the moment this can no longer be proven to be the leader, or when the
   * election is to end; another one leads no earlier than `leaseMs - renewDeadlineMs` after that, or
   * once this has returned. It is never called again before it has returned.
   */
  readonly onStart: (signal: AbortSignal) => Promise<void>;
  /** A request that failed; the election goes on. */
  readonly onError?: (error: unknown) => void;
  readonly clock?: Clock;
  /** From 0 up to, not including, 1. */
  readonly random?: () => number;
  readonly limits?: Partial<LeaseLimits>;
}

/**
 * At most one of many leads, by a Lease. A leader counts its time from before the request that renewed
 * the lease, a candidate from after the answer that showed it so; neither trusts a date that the other
 * wrote. So clocks may be wrong as they like, as long as none runs faster than another by a half.
 *
 * What breaks it is a hand: who deletes a lease or empties its holder tells the next one that it is
 * free. Candidates that had seen the lease wait for its time all the same; one that is new cannot know.
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #limits: LeaseLimits;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #keeper: LeaseKeeper;
  /** This one's name in the lease. */
  readonly identity: string;
  #leads = false;

  /** @throws LarderError `internal` where the limits contradict each other */
  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#limits = { ...leaseLimits, ...options.limits };
    checkLimits(this.#limits);
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.identity = `${options.instance}_${randomUUID()}`;
    this.#keeper = new LeaseKeeper({
      client: options.client,
      place: { namespace: options.namespace, name: options.name },
      identity: this.identity,
      limits: this.#limits,
      clock: this.#clock,
      onError: options.onError ?? (() => {}),
    });
  }

  /** Whether this is the leader, as of now: by the clock, so also right after the process stood still. */
  get leading(): boolean {
    return this.#leads && this.#keeper.provenUntil > this.#clock.monotonic();
  }

  /**
   * Stands for election, and leads, again and again, until the signal aborts or `onStart` returns while
   * it leads. Gives the lease back in the end.
   *
   * @throws what `onStart` throws
   */
  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const waitMs = await this.#keeper.stand(signal);
        if (waitMs > 0) await this.#sleep(Math.min(waitMs, this.#jittered("pollMs")), signal);
        else if ((await this.#lead(signal)) === "ended") break;
      }
    } finally {
      await this.#keeper.release();
    }
  }

  /** One term. @returns why it is over */
  async #lead(signal: AbortSignal): Promise<"ended" | "lost"> {
    const term = new AbortController();
    const over = new AbortController();
    term.signal.addEventListener("abort", () => (this.#leads = false), { once: true });
    const stop = (): void => {
      term.abort(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
    this.#leads = true;
    if (signal.aborted) stop();
    const parts = [this.#guard(term, over.signal), this.#renew(term, over.signal)];
    try {
      if (!signal.aborted) await this.#options.onStart(term.signal);
    } catch (error) {
      if (!term.signal.aborted) throw error;
    } finally {
      this.#leads = false;
      signal.removeEventListener("abort", stop);
      over.abort();
      await Promise.all(parts);
    }
    return signal.aborted || !term.signal.aborted ? "ended" : "lost";
  }

  /** Ends the term when the last proof is too old. */
  async #guard(term: AbortController, over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      const leftMs = this.#keeper.provenUntil - this.#clock.monotonic();
      if (leftMs <= 0) {
        term.abort(this.#lost("the lease could not be renewed in time"));
        return;
      }
      await this.#sleep(leftMs, over);
    }
  }

  /** Renews as long as there is work, also while it comes to its end, unless another one has the lease. */
  async #renew(term: AbortController, over: AbortSignal): Promise<void> {
    for (;;) {
      await this.#sleep(this.#jittered("renewMs"), over);
      if (over.aborted) return;
      if ((await this.#keeper.renew(over)) === "lost") {
        term.abort(this.#lost("somebody else has the lease, or deleted it"));
        return;
      }
    }
  }

  /** Returns when the time is over, or the signal aborts. */
  async #sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#clock.sleep(milliseconds, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #jittered(limit: "pollMs" | "renewMs"): number {
    return this.#limits[limit] * (0.75 + this.#random() / 4);
  }

  #lost(why: string): LarderError {
    const { namespace, name } = this.#options;
    return new LarderError("interrupted", {
      what: `cannot go on as the leader by the lease ${namespace}/${name}`,
      why,
      todo: "nothing: another one leads, or this one will again",
    });
  }
}

function checkLimits({ leaseMs, renewDeadlineMs, renewMs, requestMs }: LeaseLimits): void {
  if (renewDeadlineMs < leaseMs && renewMs + requestMs < renewDeadlineMs) return;
  throw new LarderError("internal", {
    what: "cannot stand for election",
    why: "its limits contradict each other",
    todo: "make renewMs + requestMs less than renewDeadlineMs, and that less than leaseMs",
  });
}
