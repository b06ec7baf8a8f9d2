import type { FillResult } from "../cache/store.ts";
import { LarderError } from "../errors.ts";
import type { EventInput } from "../kube/event-recorder.ts";
import type { Log } from "../telemetry/log.ts";
import type { CacheSpec } from "./cache-spec.ts";
import { fill, type FillingOptions } from "./filling.ts";
import type { AgentMetrics } from "./metrics.ts";
import { failedEvent, syncedEvent } from "./outcome.ts";
import type { Pull } from "./pulls.ts";

export interface PullerOptions extends Omit<FillingOptions, "received"> {
  readonly metrics: AgentMetrics;
  readonly log: Pick<Log, "info" | "warn">;
  readonly record: (event: EventInput) => void;
  /** A resource's directory is new, and what was known of the former one counts no more. */
  readonly filled: (cache: CacheSpec) => void;
}

/** A pull that tells what becomes of it: in the log, in the metrics and by an event. */
export function puller(options: PullerOptions): Pull {
  const { metrics, log, record } = options;
  const received = (bytes: number): void => {
    metrics.received(bytes);
  };
  return async (job, signal, alive) => {
    const { cache, because } = job;
    const { name, source } = cache;
    log.info("a pull starts", { cache: name, source, because });
    try {
      const pulled = await metrics.pull(
        async () => fill(job, { ...options, received }, signal, alive),
        signal,
      );
      // Another run brought it meanwhile, and told of it. What it brought was looked at by size only.
      if (pulled.result === "complete") return;
      options.filled(cache);
      tell(cache, pulled, options);
    } catch (error) {
      if (error instanceof LarderError && !signal.aborted) {
        log.warn("a pull failed", { cache: name, source, error });
        record(failedEvent(cache, error));
      }
      throw error;
    }
  };
}

function tell(cache: CacheSpec, pulled: FillResult, { log, record }: PullerOptions): void {
  const { digest } = pulled.sentinel;
  log.info("an image cache is synced", { cache: cache.name, digest });
  record(syncedEvent(cache, pulled));
}
