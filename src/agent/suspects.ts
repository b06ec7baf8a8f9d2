import type { Clock } from "../registry/clock.ts";
import { Suspicion, type SuspicionTimes } from "./suspicion.ts";

/** Files to be read and compared with their checksums. */
export interface Suspected {
  /** The cache path. */
  readonly path: string;
  /** The resource. */
  readonly name: string;
  /** Base names, sorted; undefined when there were too many to keep: any file of the resource. */
  readonly files: readonly string[] | undefined;
}

export interface SuspectsOptions {
  /** Called with what can be looked at now; once for each resource that has any. */
  readonly onDue: (suspected: Suspected) => void;
  readonly clock: Clock;
  /** How long nothing must happen to a file before it is looked at. Default 250 ms. */
  readonly quietMs?: number;
  /** After this it is looked at even so. Default 2 s, and twice as long each time, up to 64 s. */
  readonly mostMs?: number;
  /** Of one resource; beyond, the resource as a whole is suspected. Default 1,000. */
  readonly mostFiles?: number;
}

/** A resource's suspects, by file name. */
interface Ward {
  readonly path: string;
  readonly name: string;
  readonly files: Map<string, Suspicion>;
  /** Of the resource as a whole, in place of `files`. */
  whole?: Suspicion;
}

const longestMs = 64_000;

/**
 * Files that events named, held until their writer has been quiet for a moment: a file that is read
 * while it is written is damaged for certain, and read in vain. Memory is bounded by the number of
 * resources.
 */
export class Suspects {
  readonly #options: SuspectsOptions;
  readonly #times: SuspicionTimes;
  readonly #wards = new Map<string, Ward>();
  #wake = (): void => {};

  constructor(options: SuspectsOptions) {
    this.#options = options;
    const { quietMs = 250, mostMs = 2000 } = options;
    this.#times = { quietMs, mostMs, longestMs: Math.max(longestMs, mostMs) };
  }

  /** Something happened to a file. */
  add({ path, name, file }: { path: string; name: string; file: string }): void {
    const now = this.#options.clock.monotonic();
    const key = `${path}/${name}`;
    const ward = this.#wards.get(key) ?? { path, name, files: new Map<string, Suspicion>() };
    this.#wards.set(key, ward);
    const known = ward.whole ?? ward.files.get(file);
    if (known !== undefined) known.happened(now);
    else if (ward.files.size < this.#mostFiles) {
      ward.files.set(file, new Suspicion(now, this.#times));
    } else {
      ward.files.clear();
      ward.whole = new Suspicion(now, this.#times);
    }
    this.#wake();
  }

  /** Calls back when it is time, until `signal` aborts; returns then. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#wake();
    signal.addEventListener("abort", stop);
    try {
      while (!signal.aborted) {
        const delayMs = this.#nextDueMs();
        if (delayMs === undefined) await this.#untilAdded();
        else if (delayMs > 0) await this.#sleep(delayMs, signal);
        else this.#callBack();
      }
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  get #mostFiles(): number {
    return this.#options.mostFiles ?? 1000;
  }

  /** Milliseconds until something is due; undefined when nothing is suspected. */
  #nextDueMs(): number | undefined {
    let first = Infinity;
    for (const ward of this.#wards.values()) {
      for (const suspicion of suspicionsOf(ward)) first = Math.min(first, suspicion.dueAt);
    }
    return first === Infinity ? undefined : first - this.#options.clock.monotonic();
  }

  #callBack(): void {
    const now = this.#options.clock.monotonic();
    for (const [key, ward] of this.#wards) {
      const suspected = takeDue(ward, now);
      if (ward.files.size === 0 && ward.whole === undefined) this.#wards.delete(key);
      if (suspected !== undefined) this.#options.onDue(suspected);
    }
  }

  /** Nobody has to wake it: what is added meanwhile is due later than what is slept for. */
  async #sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.clock.sleep(milliseconds, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #untilAdded(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    await promise;
    this.#wake = () => {};
  }
}

function suspicionsOf({ whole, files }: Ward): Iterable<Suspicion> {
  return whole === undefined ? files.values() : [whole];
}

/** Takes what is due out of a ward; undefined when nothing is. */
function takeDue(ward: Ward, now: number): Suspected | undefined {
  const { path, name } = ward;
  const whole = ward.whole?.judge(now);
  if (whole?.over === true) delete ward.whole;
  if (whole?.look === true) return { path, name, files: undefined };
  const files: string[] = [];
  for (const [file, suspicion] of ward.files) {
    const { look, over } = suspicion.judge(now);
    if (look) files.push(file);
    if (over) ward.files.delete(file);
  }
  return files.length === 0 ? undefined : { path, name, files: files.sort() };
}
