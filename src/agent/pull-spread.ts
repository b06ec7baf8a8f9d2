import type { Clock } from "../registry/clock.ts";
import { placeOf } from "./cache-spec.ts";
import type { Wanted } from "./plan.ts";
import { spreadDelay } from "./spread.ts";

/** Since when something new is to be pulled, and whether it was ever there. */
interface Known {
  readonly source: string;
  readonly since: number;
  complete: boolean;
}

/**
 * When a resource may be pulled on this node. What is new waits its part of the window; what was
 * complete before, and is damaged or gone, is repaired at once.
 */
export class PullSpread {
  readonly #node: string;
  readonly #windowMs: number;
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();

  constructor(node: string, windowMs: number, clock: Clock) {
    this.#node = node;
    this.#windowMs = windowMs;
    this.#clock = clock;
  }

  /** Monotonic milliseconds. */
  notBefore({ cache }: Wanted): number {
    const { complete, since } = this.#look(cache.source, placeOf(cache));
    if (complete) return since;
    return since + spreadDelay(this.#node, cache.name, cache.source, this.#windowMs);
  }

  /** It is there. */
  completed(cache: {
    readonly cachePath: string;
    readonly name: string;
    readonly source: string;
  }): void {
    this.#look(cache.source, placeOf(cache)).complete = true;
  }

  /** Forgets all other places. */
  keepOnly(places: ReadonlySet<string>): void {
    for (const place of this.#known.keys()) if (!places.has(place)) this.#known.delete(place);
  }

  #look(source: string, place: string): Known {
    const known = this.#known.get(place);
    if (known?.source === source) return known;
    const fresh = { source, since: this.#clock.monotonic(), complete: false };
    this.#known.set(place, fresh);
    return fresh;
  }
}
