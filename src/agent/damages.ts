import type { Clock } from "../registry/clock.ts";
import type { Log } from "../telemetry/log.ts";
import { placeOf } from "./cache-spec.ts";
import type { OpenStore } from "./look.ts";
import { Suspects, type Suspected } from "./suspects.ts";

export interface DamagesOptions {
  readonly open: OpenStore;
  /** A listed file is not what it should be. */
  readonly found: (place: string, why: string) => void;
  readonly log: Pick<Log, "warn">;
  readonly clock: Clock;
}

/** Which directories hold a file that differs from its checksum, as file-system events led to it. */
export class Damages {
  readonly #options: DamagesOptions;
  readonly #suspects: Suspects;
  readonly #known = new Map<string, string>();
  readonly #checks = new Map<string, Promise<void>>();
  #signal = AbortSignal.abort();

  constructor(options: DamagesOptions) {
    this.#options = options;
    this.#suspects = new Suspects({
      clock: options.clock,
      onDue: (suspected) => {
        this.#enqueue(suspected);
      },
    });
  }

  /** Why, by place. */
  get known(): ReadonlyMap<string, string> {
    return this.#known;
  }

  suspect(file: { readonly path: string; readonly name: string; readonly file: string }): void {
    this.#suspects.add(file);
  }

  /** A directory was filled anew. */
  repaired(place: string): void {
    this.#known.delete(place);
  }

  /** Forgets all other places. */
  keepOnly(places: ReadonlySet<string>): void {
    for (const place of this.#known.keys()) if (!places.has(place)) this.#known.delete(place);
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    await this.#suspects.run(signal);
    await Promise.all(this.#checks.values());
  }

  /** One read of a directory's files at a time. */
  #enqueue(suspected: Suspected): void {
    const place = placeOf({ cachePath: suspected.path, name: suspected.name });
    const before = this.#checks.get(place) ?? Promise.resolve();
    const check = before
      .then(async () => this.#check(place, suspected))
      .finally(() => {
        if (this.#checks.get(place) === check) this.#checks.delete(place);
      });
    this.#checks.set(place, check);
  }

  async #check(place: string, { path, name, files }: Suspected): Promise<void> {
    try {
      const store = await this.#options.open(path);
      const why = await store.damage(name, files, this.#signal);
      if (why === undefined) return;
      this.#known.set(place, why);
      this.#options.found(place, why);
    } catch (error) {
      if (this.#signal.aborted) return;
      this.#options.log.warn("cannot check a file", { directory: place, error });
    }
  }
}
