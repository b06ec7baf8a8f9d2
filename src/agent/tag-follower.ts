import type { Platform } from "../registry/platform.ts";
import type { Registry } from "../registry/registry.ts";
import type { Log } from "../telemetry/log.ts";
import { placeOf } from "./cache-spec.ts";
import { movedTags } from "./follow-tags.ts";
import type { OpenStore } from "./look.ts";
import type { PassResult } from "./pass.ts";

export interface TagFollowerOptions {
  readonly registry: () => Promise<Registry>;
  readonly platform: Platform;
  readonly open: OpenStore;
  /** Some tags name another image by now. */
  readonly moved: () => void;
  readonly log: Pick<Log, "warn">;
}

/** Which directories hold what their tag named once, and names no longer. */
export class TagFollower {
  readonly #options: TagFollowerOptions;
  readonly #moved = new Set<string>();
  #asking = false;

  constructor(options: TagFollowerOptions) {
    this.#options = options;
  }

  /** Places. */
  get known(): ReadonlySet<string> {
    return this.#moved;
  }

  /** A directory was filled anew. */
  filled(place: string): void {
    this.#moved.delete(place);
  }

  /** Forgets all other places. */
  keepOnly(places: ReadonlySet<string>): void {
    for (const place of this.#moved) if (!places.has(place)) this.#moved.delete(place);
  }

  /** Asks for each directory that a pass found complete, one after the other; one round at a time. */
  async ask({ desired, looks }: PassResult, signal: AbortSignal): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    const { registry, platform, open, log, moved } = this.#options;
    const followed = desired.flatMap((cache) => {
      const look = looks.get(cache.name);
      return look?.kind === "complete" ? [{ cache, sentinel: look.sentinel }] : [];
    });
    try {
      const changed = await movedTags(
        followed,
        {
          registry,
          platform,
          record: async ({ cachePath, name }, digests) => {
            await (await open(cachePath)).recordResolved(name, digests, signal);
          },
          failed: (cache, error) => {
            log.warn("cannot ask what a tag names now", { cache: cache.name, error });
          },
        },
        signal,
      );
      for (const cache of changed) this.#moved.add(placeOf(cache));
      if (changed.length > 0) moved();
    } finally {
      this.#asking = false;
    }
  }
}
