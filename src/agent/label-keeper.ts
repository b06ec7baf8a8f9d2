import { ApiError } from "../kube/api-error.ts";
import { backoffMs } from "../kube/backoff.ts";
import type { Clock } from "../registry/clock.ts";
import type { Log } from "../telemetry/log.ts";
import type { NodeFacts } from "./cache-spec.ts";
import { LabelWriter, type LabelWriterOptions } from "./label-writer.ts";
import type { Sync } from "./labels.ts";

export interface LabelKeeperOptions extends LabelWriterOptions {
  /** Asks for another pass. */
  readonly again: (afterMs: number) => void;
  readonly log: Pick<Log, "warn" | "info">;
  readonly clock: Clock;
  readonly random: () => number;
}

/** How long a pass waits for the API server, so that `pending` is there before the pull. */
const patienceMs = 5000;
const backoff = { firstMs: 1000, maxMs: 60_000 };

/**
 * Labels, without ever holding up a repair: once a request has failed or taken too long, nobody waits
 * for the next ones until one succeeds. However many passes there are meanwhile, what failed is asked
 * for again with growing patience only.
 */
export class LabelKeeper {
  readonly #options: LabelKeeperOptions;
  readonly #writer: LabelWriter;
  #failures = 0;
  #late = false;
  /** Monotonic milliseconds. */
  #retryAt = -Infinity;
  /** The request, or requests in a row, under way. */
  #writing: Promise<void> | undefined;

  constructor(options: LabelKeeperOptions) {
    this.#options = options;
    this.#writer = new LabelWriter(options);
  }

  /** Never throws: what fails is told, and tried again by a later pass. */
  async keep(
    node: NodeFacts | undefined,
    want: ReadonlyMap<string, Sync>,
    signal: AbortSignal,
  ): Promise<void> {
    if (node === undefined) return;
    const early = this.#retryAt - this.#options.clock.monotonic();
    if (early > 0) {
      this.#options.again(early);
      return;
    }
    const written = this.#write(node, want, signal);
    if (this.#failures > 0 || this.#late) return;
    const waited = new AbortController();
    const late = this.#options.clock
      .sleep(patienceMs, AbortSignal.any([signal, waited.signal]))
      .then(
        () => {
          this.#late = true;
        },
        () => {},
      );
    await Promise.race([written, late]);
    waited.abort();
  }

  /** The API server was heard of again, and said what there is: what failed deserves a try at once. */
  hurry(): void {
    this.#retryAt = -Infinity;
    this.#writer.forget();
  }

  /** Several that wait for one request are one success, or one failure. */
  async #write(
    node: NodeFacts,
    want: ReadonlyMap<string, Sync>,
    signal: AbortSignal,
  ): Promise<void> {
    const writing = this.#writer.write(node, want, signal);
    const first = writing !== this.#writing;
    this.#writing = writing;
    try {
      await writing;
      if (first) this.#succeeded();
    } catch (error) {
      if (first && !signal.aborted) this.#failed(error);
    }
  }

  #succeeded(): void {
    if (this.#failures > 0) this.#options.log.info("the node's labels are written again");
    this.#failures = 0;
    this.#late = false;
  }

  #failed(error: unknown): void {
    if (this.#failures === 0) {
      this.#options.log.warn("cannot write the node's labels", { error });
    }
    this.#failures += 1;
    const { clock, random, again } = this.#options;
    const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    const own = backoffMs(this.#failures, random(), backoff);
    const delay = Math.max(own, Math.min(asked, backoff.maxMs));
    this.#retryAt = clock.monotonic() + delay;
    again(delay);
  }
}
