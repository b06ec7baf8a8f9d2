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
const firstRetryMs = 1000;
const longestRetryMs = 60_000;

/**
 * Labels, without ever holding up a repair: once a request has failed or taken too long, nobody waits
 * for the next ones until one succeeds.
 */
export class LabelKeeper {
  readonly #options: LabelKeeperOptions;
  readonly #writer: LabelWriter;
  #failures = 0;
  #late = false;

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
    const written = this.#writer.write(node, want, signal).then(
      () => {
        this.#succeeded();
      },
      (error: unknown) => {
        if (!signal.aborted) this.#failed(error);
      },
    );
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

  #succeeded(): void {
    if (this.#failures > 0) this.#options.log.info("the node's labels are written again");
    this.#failures = 0;
    this.#late = false;
  }

  #failed(error: unknown): void {
    if (this.#failures === 0) {
      this.#options.log.warn("cannot write the node's labels", { error });
    }
    const delay = Math.min(firstRetryMs * 2 ** this.#failures, longestRetryMs);
    this.#failures += 1;
    this.#options.again(delay * (0.5 + this.#options.random() / 2));
  }
}
