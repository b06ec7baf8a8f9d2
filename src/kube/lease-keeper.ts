import type { Clock } from "../registry/clock.ts";
import { hasStatus } from "./api-error.ts";
import type { Client } from "./client.ts";
import {
  claimed,
  decide,
  parseLease,
  released,
  sight,
  type Lease,
  type Sighting,
} from "./lease.ts";
import type { LeaseLimits } from "./lease-limits.ts";
import type { KubeObject } from "./object.ts";
import { leases } from "./resource.ts";

export interface LeaseKeeperOptions {
  readonly client: Pick<Client, "get" | "create" | "update">;
  readonly place: { readonly namespace: string; readonly name: string };
  readonly identity: string;
  readonly limits: LeaseLimits;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/**
 * One candidate's dealings with a lease. Every write names the resourceVersion that it was decided on,
 * so of two that write at one time, one fails.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  #sighting: Sighting | undefined;
  #provenUntil = -Infinity;
  /** A write was sent of which it is not known whether it came through. */
  #unsure = false;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /** Until when (monotonic) nobody else can have the lease, with time to spare. */
  get provenUntil(): number {
    return this.#provenUntil;
  }

  /**
   * Looks at the lease, and takes it where it is free. Never throws.
   *
   * @returns milliseconds until the next look; 0: it is taken
   */
  async stand(signal: AbortSignal): Promise<number> {
    const { clock, identity, limits, onError } = this.#options;
    try {
      const seen = await this.#look(signal);
      const decision = decide(seen, identity, clock.monotonic());
      // Not bound to the signal: whether an aborted write took the lease could not be told.
      if (decision.kind === "take") return await this.#take(seen);
      return decision.milliseconds;
    } catch (error) {
      // Another candidate was faster.
      if (!signal.aborted && !hasStatus(error, 409)) onError(error);
      return limits.pollMs;
    }
  }

  /** Never throws. @returns whether the lease is another's now, or gone; `failed`: nobody knows */
  async renew(signal: AbortSignal): Promise<"held" | "lost" | "failed"> {
    try {
      const held = this.#held();
      if (held === undefined) return "lost";
      await this.#claim(held, signal);
      return "held";
    } catch (error) {
      if (signal.aborted) return "failed";
      if (isRace(error)) return await this.#afterRace(signal);
      this.#options.onError(error);
      return "failed";
    }
  }

  /** Gives the lease back where this one holds it. Never throws. */
  async release(): Promise<void> {
    this.#provenUntil = -Infinity;
    const { client, clock, limits, onError } = this.#options;
    if (this.#held() === undefined && !this.#unsure) return;
    try {
      await this.#within(limits.releaseMs, undefined, async (signal) => {
        if (this.#unsure) await this.#look(signal);
        const held = this.#held();
        if (held === undefined) return;
        this.#saw(await client.update(leases, released(held, clock.date()), { signal }));
      });
    } catch (error) {
      onError(error);
    }
  }

  /** @returns 0: it is taken */
  async #take({ lease }: Sighting): Promise<number> {
    await this.#claim(lease, undefined);
    return 0;
  }

  /** Writes itself into the lease, and counts from before that. */
  async #claim(lease: Lease | undefined, signal: AbortSignal | undefined): Promise<void> {
    const { client, clock, identity, place, limits } = this.#options;
    const { leaseMs, renewDeadlineMs, requestMs } = limits;
    const begun = clock.monotonic();
    const object = claimed(lease, place, { identity, leaseMs, date: clock.date() });
    this.#unsure = true;
    const written = await this.#within(requestMs, signal, async (limited) =>
      lease === undefined
        ? client.create(leases, object, { signal: limited })
        : client.update(leases, object, { signal: limited }),
    );
    this.#unsure = false;
    this.#saw(written);
    this.#provenUntil = begun + renewDeadlineMs;
  }

  async #afterRace(signal: AbortSignal): Promise<"lost" | "failed"> {
    try {
      return this.#held(await this.#look(signal)) === undefined ? "lost" : "failed";
    } catch (error) {
      if (!signal.aborted) this.#options.onError(error);
      return "failed";
    }
  }

  async #look(signal: AbortSignal): Promise<Sighting> {
    const { client, place, limits } = this.#options;
    const { namespace, name } = place;
    const object = await this.#within(limits.requestMs, signal, async (limited) =>
      client.get(leases, name, { namespace, signal: limited }),
    );
    return this.#saw(object);
  }

  #saw(object: KubeObject | undefined): Sighting {
    const { clock, limits } = this.#options;
    const lease = object && parseLease(object);
    this.#sighting = sight(this.#sighting, lease, clock.monotonic(), limits.leaseMs);
    return this.#sighting;
  }

  /** The lease as last seen, where it was this one's. */
  #held(sighting = this.#sighting): Lease | undefined {
    const lease = sighting?.lease;
    return lease?.holder === this.#options.identity ? lease : undefined;
  }

  /** A request with a time limit: one that hangs must leave time for another. */
  async #within<T>(
    milliseconds: number,
    signal: AbortSignal | undefined,
    ask: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const limit = new AbortController();
    const done = new AbortController();
    const timer = this.#options.clock.sleep(milliseconds, done.signal).then(
      () => {
        limit.abort(new Error(`no answer within ${milliseconds / 1000} s`));
      },
      () => {},
    );
    try {
      return await ask(signal ? AbortSignal.any([signal, limit.signal]) : limit.signal);
    } finally {
      done.abort();
      await timer;
    }
  }
}

/** Somebody else wrote, or deleted, what this write was decided on. */
function isRace(error: unknown): boolean {
  return hasStatus(error, 404, 409);
}
