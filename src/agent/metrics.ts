import { reserveOf, type MinFree } from "../cache/space.ts";
import { errorCodes, LarderError, type ErrorCode } from "../errors.ts";
import type { Clock } from "../registry/clock.ts";
import { Metrics } from "../telemetry/metrics.ts";
import { addProcessMetrics } from "../telemetry/process-metrics.ts";
import { DiskUsage, type FileSystemFigures } from "./disk-usage.ts";
import type { Sync } from "./labels.ts";
import { agentSeries, fileWatchStates, type AgentSeries, type FileWatchState } from "./series.ts";

export interface AgentMetricsOptions {
  /** Larder's own. */
  readonly version: string;
  /** The node's name. */
  readonly node: string;
  /** What has to stay free below each cache path. */
  readonly minFree: MinFree;
  readonly clock: Clock;
  /** How a file system is asked for its figures; default: the system's `statfs`. */
  readonly askDisk?: (path: string) => Promise<FileSystemFigures>;
}

/** What the agent tells about itself: it says what happened, and here it becomes figures. */
export class AgentMetrics {
  /** For the server that shows them. */
  readonly metrics = new Metrics();
  readonly #series: AgentSeries;
  readonly #clock: Clock;
  #running = 0;
  #cachePaths: readonly string[] = [];

  constructor({ version, node, minFree, clock, askDisk }: AgentMetricsOptions) {
    this.#clock = clock;
    this.#series = agentSeries(this.metrics);
    this.#series.build.set(1, { version, node, runtime: process.version });
    addProcessMetrics(this.metrics);
    const usage = new DiskUsage({ clock, ...(askDisk === undefined ? {} : { ask: askDisk }) });
    this.metrics.beforeReading(async () => {
      const spaces = [...(await usage.of(this.#cachePaths))];
      const { diskFree, diskSize, diskReserve } = this.#series;
      diskFree.replace(spaces.map(([path, { free }]) => [{ path }, free]));
      diskSize.replace(spaces.map(([path, { total }]) => [{ path }, total]));
      diskReserve.replace(spaces.map(([path, { total }]) => [{ path }, reserveOf(minFree, total)]));
    });
  }

  /** All that this node shall have, by resource name. Others are gone. */
  states(states: ReadonlyMap<string, Sync>): void {
    this.#series.state.replace(
      [...states].flatMap(([name, is]) =>
        (["synced", "pending"] as const).map(
          (state) => [{ name, state }, state === is ? 1 : 0] as const,
        ),
      ),
    );
  }

  /** Runs a pull, and counts how it ends; one that was called off has neither succeeded nor failed. */
  async pull<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { pullsStarted, pullsSucceeded, pullsFailed, pullSeconds } = this.#series;
    const end = this.#timer();
    pullsStarted.add(1);
    this.#pullsRunning(1);
    try {
      const result = await work();
      pullsSucceeded.add(1);
      pullSeconds.observe(end(), { result: "succeeded" });
      return result;
    } catch (error) {
      if (signal.aborted) throw error;
      pullsFailed.add(1, { reason: codeOf(error) });
      pullSeconds.observe(end(), { result: "failed" });
      throw error;
    } finally {
      this.#pullsRunning(-1);
    }
  }

  /** Bytes of layers that came in. */
  received(bytes: number): void {
    this.#series.pulledBytes.add(bytes);
  }

  /** Runs a pass. One that throws has failed, and so has one with which something was wrong. */
  async pass<T extends { readonly problems: readonly unknown[] }>(
    work: () => Promise<T>,
  ): Promise<T> {
    const end = this.#timer();
    let result: "succeeded" | "failed" = "failed";
    try {
      const done = await work();
      if (done.problems.length === 0) result = "succeeded";
      return done;
    } finally {
      this.#series.passes.add(1, { result });
      this.#series.passSeconds.observe(end());
    }
  }

  /** A request to the API server was answered, or found nobody. */
  contact(answered: boolean): void {
    this.#series.reachable.set(answered ? 1 : 0);
    if (answered) this.#series.lastContact.set(this.#clock.date() / 1000);
  }

  /** Whether what the API server says of a kind comes in as it happens. */
  watch(kind: "ImageCache" | "Node", open: boolean): void {
    this.#series.watchOpen.set(open ? 1 : 0, { kind });
  }

  /** How many directories are watched, are not there, or cannot be watched. */
  fileWatches(counts: Readonly<Record<FileWatchState, number>>): void {
    for (const state of fileWatchStates) this.#series.fileWatches.set(counts[state], { state });
  }

  /** Cache paths that are there; how full they are is looked up when somebody asks. */
  cachePaths(paths: Iterable<string>): void {
    this.#cachePaths = [...new Set(paths)];
  }

  /** Directories that nothing claims, before they are collected. */
  orphans(orphans: readonly { readonly seen: boolean }[]): void {
    const seen = orphans.filter((orphan) => orphan.seen).length;
    this.#series.orphans.set(seen, { cause: "deleted" });
    this.#series.orphans.set(orphans.length - seen, { cause: "missing" });
  }

  /** Directories of resources that are gone were removed. */
  collected(directories: number): void {
    this.#series.collected.add(directories);
  }

  /** Events that nobody will see. */
  eventsDropped(events: number): void {
    this.#series.eventsDropped.add(events);
  }

  #pullsRunning(change: number): void {
    this.#running += change;
    this.#series.pullsRunning.set(this.#running);
  }

  /** What it returns says how many seconds went by. */
  #timer(): () => number {
    const start = this.#clock.monotonic();
    return () => (this.#clock.monotonic() - start) / 1000;
  }
}

const codes: readonly string[] = errorCodes;

function codeOf(error: unknown): ErrorCode {
  return error instanceof LarderError && codes.includes(error.code) ? error.code : "internal";
}
