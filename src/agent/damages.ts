import type { Clock } from "../registry/clock.ts";
import type { Log } from "../telemetry/log.ts";
import { placeOf } from "./cache-spec.ts";
import type { OpenStore } from "./look.ts";
import { Suspects, type Suspected } from "./suspects.ts";

export interface DamagesOptions {
  readonly open: OpenStore;
  /** A listed file is not what it should be. */
  readonly found: (place: string, why: string) => void;
  /** What was damaged is so no more, and not by a fill: somebody mended it, replaced it, or took it away. */
  readonly mended: (place: string) => void;
  readonly log: Pick<Log, "warn">;
  readonly clock: Clock;
}

/** Files that wait for a read of their directory to end; beyond, the directory is read as a whole. */
const mostFiles = 1000;

/** Which directories hold a file that differs from its checksum, as file-system events led to it. */
export class Damages {
  readonly #options: DamagesOptions;
  readonly #suspects: Suspects;
  readonly #known = new Map<string, string>();
  /** What is to be looked at once the present read of the place has ended. */
  readonly #waiting = new Map<string, Suspected>();
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

  /** @param file undefined: the directory itself, which is read only where it is known as damaged */
  suspect({ path, name, file }: { path: string; name: string; file?: string | undefined }): void {
    if (file !== undefined) this.#suspects.add({ path, name, file });
    else if (this.#known.has(placeOf({ cachePath: path, name }))) {
      this.#enqueue({ path, name, files: undefined });
    }
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

  /** One read of a directory's files at a time; all that comes meanwhile is one more. */
  #enqueue(suspected: Suspected): void {
    const place = placeOf({ cachePath: suspected.path, name: suspected.name });
    const waiting = this.#waiting.get(place);
    this.#waiting.set(place, waiting === undefined ? suspected : both(waiting, suspected));
    if (!this.#checks.has(place)) this.#checks.set(place, this.#checkAll(place));
  }

  async #checkAll(place: string): Promise<void> {
    for (;;) {
      const next = this.#waiting.get(place);
      if (next === undefined) break;
      this.#waiting.delete(place);
      await this.#check(place, next);
    }
    this.#checks.delete(place);
  }

  async #check(place: string, { path, name, files }: Suspected): Promise<void> {
    try {
      const store = await this.#options.open(path);
      // Of what is damaged, one good file does not make a good directory.
      const among = this.#known.has(place) ? undefined : files;
      const why = await store.damage(name, among, this.#signal);
      if (why !== undefined) {
        this.#known.set(place, why);
        this.#options.found(place, why);
      } else if (among === undefined && this.#known.delete(place)) this.#options.mended(place);
    } catch (error) {
      if (this.#signal.aborted) return;
      this.#options.log.warn("cannot check a file", { directory: place, error });
    }
  }
}

function both(one: Suspected, { files }: Suspected): Suspected {
  if (one.files === undefined || files === undefined) return { ...one, files: undefined };
  const all = new Set([...one.files, ...files]);
  return { ...one, files: all.size > mostFiles ? undefined : [...all].sort() };
}
