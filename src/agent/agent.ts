import { labelPrefix } from "../api/image-cache.ts";
import type { Removed } from "../cache/collect.ts";
import type { MinFree } from "../cache/space.ts";
import { hasStatus } from "../kube/api-error.ts";
import type { Client } from "../kube/client.ts";
import type { EventRecorder } from "../kube/event-recorder.ts";
import { Queue } from "../kube/queue.ts";
import { nodes } from "../kube/resource.ts";
import type { Clock } from "../registry/clock.ts";
import type { Image } from "../registry/image.ts";
import type { Platform } from "../registry/platform.ts";
import type { Registry } from "../registry/registry.ts";
import type { Log } from "../telemetry/log.ts";
import { Alarm } from "./alarm.ts";
import { parseNode, placeOf } from "./cache-spec.ts";
import { storeOpener } from "./cache-paths.ts";
import { ClusterWatch } from "./cluster.ts";
import { Damages } from "./damages.ts";
import { declared, type Declared } from "./declared.ts";
import { LabelKeeper } from "./label-keeper.ts";
import type { OpenStore } from "./look.ts";
import type { AgentMetrics } from "./metrics.ts";
import { withSeen, type Delays } from "./orphans.ts";
import { pass, type PassResult } from "./pass.ts";
import { puller } from "./puller.ts";
import { Pulls } from "./pulls.ts";
import { Recollection } from "./recollection.ts";
import { PullSpread } from "./pull-spread.ts";
import type { FileWatchState } from "./series.ts";
import { TagFollower } from "./tag-follower.ts";
import { steadyClock } from "./steady-clock.ts";
import { CacheWatcher, type WatchReport } from "./watcher.ts";

export interface AgentOptions {
  readonly nodeName: string;
  readonly client: Client;
  readonly events: Pick<EventRecorder, "record" | "run" | "flush">;
  /** Opened when the first image is needed. */
  readonly registry: () => Promise<Registry>;
  readonly throttle: (image: Image) => Image;
  /** Aborts when little time is left to clear up: what takes long is left to the next run. */
  readonly hurry: AbortSignal;
  readonly platform: Platform;
  /** Scanned whether a resource names it or not; where the agent's memory is. */
  readonly cachePath: string;
  /** Only what something of the host is mounted on may be a cache path. */
  readonly inContainer: boolean;
  /** Milliseconds; 0: never. */
  readonly resyncMs: number;
  readonly delays: Delays;
  /** Milliseconds over which the nodes' pulls of a new resource are spread. */
  readonly spreadMs: number;
  readonly atOnce: number;
  readonly minFree: MinFree;
  readonly followTags: boolean;
  /** Called when the work of a start, or of pulls, has been over for a while. */
  readonly rested: () => void;
  readonly log: Log;
  readonly metrics: AgentMetrics;
  readonly clock: Clock;
  readonly random: () => number;
}

/** How long after a start the API server may take before the memory stands in for it. */
const startGraceMs = 5000;
/** What happens on the disk comes in flocks. */
const fileEventMs = 100;
/** Where passes take long, what comes in flocks waits so many times as long: the rest is for pulls. */
const pauseTimes = 2;
const longestPauseMs = 1000;
/** A pull that failed has changed nothing, and where one fails, a thousand do. */
const failureMs = 1000;
/** Labels and events are written by then, and a repair that comes in a flock is not held up. */
const restMs = 10_000;
/** For events that are not told yet when it ends; the whole end has 3 s. */
const lastWordsMs = 1000;
/** A pass that takes longer hangs on something, and a new process may do better. */
const longestPassMs = 10 * 60 * 1000;

/** One node's agent: everything that happens ends in a pass, and a pass makes the disk as declared. */
export class Agent {
  readonly #options: AgentOptions;
  readonly #cluster: ClusterWatch;
  readonly #recollection: Recollection;
  readonly #queue: Queue;
  readonly #pulls: Pulls;
  readonly #labels: LabelKeeper;
  readonly #watcher: CacheWatcher;
  readonly #damages: Damages;
  readonly #tags: TagFollower;
  readonly #spread: PullSpread;
  readonly #resync: Alarm;
  readonly #rest: Alarm;
  readonly #open: OpenStore;
  readonly #life = new AbortController();
  #alive: AbortSignal = this.#life.signal;
  #startedAt = 0;
  #passSince: number | undefined;
  #pauseMs = 0;
  #nodeMissing = false;
  #last: PassResult | undefined;
  #problems = "";

  constructor(options: AgentOptions) {
    const { nodeName, client, cachePath, log, metrics, random } = options;
    const clock = steadyClock(options.clock);
    this.#options = { ...options, clock };
    this.#open = storeOpener(options.inContainer);
    this.#recollection = new Recollection(async () => this.#open(cachePath));
    const trigger = (afterMs = 0): void => {
      this.#queue.add(nodeName, afterMs);
    };
    this.#queue = new Queue({
      work: async (_key, signal) => this.#pass(signal),
      clock,
      random,
      onError: (_key, error, delayMs) => {
        this.#failed(error, delayMs);
      },
    });
    this.#cluster = new ClusterWatch({
      client,
      nodeName,
      defaultPath: cachePath,
      changed: () => {
        trigger();
      },
      onWatch: (kind, live, why) => {
        metrics.watch(kind, live);
        if (live) this.#labels.hurry();
        if (!live && why !== undefined) log.warn("lost the watch", { kind, error: why });
      },
      onProblem: (kind, name, error) => {
        log.warn("cannot read an object", { kind, name, error });
      },
      released: (cache) => {
        const { memory } = this.#recollection;
        const orphans = withSeen(memory.orphans, cache, clock.date());
        this.#recollection.set({ ...memory, orphans });
      },
      clock,
      random,
    });
    const { registry, platform } = options;
    this.#tags = new TagFollower({ registry, platform, open: this.#open, moved: trigger, log });
    this.#pulls = new Pulls({
      atOnce: options.atOnce,
      pull: puller({
        ...options,
        open: this.#open,
        record: (event) => {
          options.events.record(event);
        },
        filled: (cache) => {
          this.#damages.repaired(placeOf(cache));
          this.#tags.filled(placeOf(cache));
        },
      }),
      onEnd: (_job, error) => {
        this.#setRest();
        trigger(error === undefined ? this.#pauseMs : failureMs);
      },
      clock,
      random,
    });
    this.#labels = new LabelKeeper({
      prefix: labelPrefix,
      patch: async (labels, signal) => {
        try {
          const node = await client.patch(nodes, nodeName, { metadata: { labels } }, { signal });
          return parseNode(node.metadata);
        } catch (error) {
          // The watch says so in a moment.
          if (hasStatus(error, 404)) return undefined;
          throw error;
        }
      },
      again: trigger,
      log,
      clock,
      random,
    });
    this.#damages = new Damages({
      open: this.#open,
      found: (place, why) => {
        log.warn("a file is damaged", { directory: place, why });
        trigger();
      },
      mended: () => {
        trigger();
      },
      log,
      clock,
    });
    this.#watcher = new CacheWatcher({
      onEvent: ({ path, name, file }) => {
        if (name !== undefined) this.#damages.suspect({ path, name, file });
        trigger(Math.max(fileEventMs, this.#pauseMs));
      },
      onDeath: (error) => {
        this.#life.abort(error);
      },
      log,
    });
    this.#spread = new PullSpread(nodeName, options.spreadMs, clock);
    this.#rest = new Alarm(clock, () => {
      // The end of those that run sets it again.
      if (this.#pulls.running.length === 0) options.rested();
    });
    this.#resync = new Alarm(clock, () => {
      this.#setResync();
      trigger();
      if (options.followTags && this.#cluster.live) this.#followTags();
    });
  }

  /**
   * Works until `signal` aborts; returns when nothing is under way any more.
   *
   * @throws LarderError `internal` where it cannot go on, as when file-system events end
   */
  async run(signal: AbortSignal): Promise<void> {
    const { log, nodeName, clock } = this.#options;
    const life = AbortSignal.any([signal, this.#life.signal]);
    this.#alive = life;
    this.#startedAt = clock.monotonic();
    await this.#load();
    this.#setResync();
    this.#setRest();
    this.#queue.add(nodeName);
    const grace = new Alarm(clock, () => {
      this.#queue.add(nodeName);
    });
    grace.set(this.#startedAt + startGraceMs);
    log.info("the agent runs", { cachePath: this.#options.cachePath });
    try {
      await Promise.all(
        [this.#cluster, this.#queue, this.#options.events, this.#damages].map(async (part) =>
          part.run(life).catch((error: unknown) => {
            if (!life.aborted) this.#life.abort(error);
          }),
        ),
      );
    } finally {
      grace.clear();
      this.#resync.clear();
      this.#rest.clear();
      this.#watcher.close();
      await this.#pulls.stop();
      await this.#options.events.flush(AbortSignal.timeout(lastWordsMs));
    }
    if (!signal.aborted && this.#life.signal.aborted) throw this.#life.signal.reason;
  }

  /** Why the process should be started anew; undefined while it does its work. */
  unhealthy(): string | undefined {
    const since = this.#passSince;
    if (since === undefined) return undefined;
    const lasts = this.#options.clock.monotonic() - since;
    if (lasts < longestPassMs) return undefined;
    return `a pass has been going on for ${Math.round(lasts / 1000)} s`;
  }

  /** Why it does not know yet what this node shall have; undefined once it does. */
  unready(): string | undefined {
    return this.#cluster.synced ? undefined : "the API server has not said yet what there is";
  }

  async #load(): Promise<void> {
    try {
      await this.#recollection.load();
    } catch (error) {
      this.#options.log.warn("cannot read what the last agent knew", { error });
    }
  }

  async #pass(signal: AbortSignal): Promise<{ againMs?: number }> {
    const { metrics, clock, cachePath, delays } = this.#options;
    const since = clock.monotonic();
    this.#passSince = since;
    try {
      // What fails here is told by the pass, which cannot keep anything there either.
      await this.#recollection.load().catch(() => {});
      const done = await metrics.pass(async () =>
        pass(
          {
            declared: () => this.#declared(),
            defaultPath: cachePath,
            open: this.#open,
            recollection: this.#recollection,
            damaged: this.#damages.known,
            moved: this.#tags.known,
            delays,
            watch: (wanted) => {
              metrics.fileWatches(countStates(this.#watcher.adjust(wanted)));
            },
            label: async (to, labels) => this.#labels.keep(to.node, labels, signal),
            pull: (jobs) => {
              this.#pulls.want(jobs, since);
            },
            notBefore: (wanted) => this.#spread.notBefore(wanted),
            removed: (path, removed) => {
              this.#removed(path, removed);
            },
            clock,
          },
          signal,
        ),
      );
      this.#take(done);
      if (done.problems.length > 0) throw new AggregateError(done.problems);
      this.#problems = "";
      const { nextDueMs } = done.plan;
      return nextDueMs === undefined ? {} : { againMs: nextDueMs };
    } finally {
      this.#pauseMs = Math.min((clock.monotonic() - since) * pauseTimes, longestPauseMs);
      this.#passSince = undefined;
    }
  }

  #declared(): Declared {
    const { clock } = this.#options;
    const starting = clock.monotonic() - this.#startedAt < startGraceMs;
    const memory = this.#recollection.memory;
    this.#tellNode();
    // What is remembered may be of yesterday: the API server gets a moment to say what is of today.
    if (starting && !this.#cluster.synced) {
      return { desired: [], paths: [], node: undefined, current: false };
    }
    return declared(this.#cluster, memory);
  }

  /** A name that the cluster does not know may be a typing error, or a node that joins later. */
  #tellNode(): void {
    const { log } = this.#options;
    const missing = this.#cluster.synced && this.#cluster.node === undefined;
    if (missing === this.#nodeMissing) return;
    this.#nodeMissing = missing;
    if (missing) log.warn("the cluster has no node of this name", { todo: "check NODE_NAME" });
    else log.info("the cluster has this node");
  }

  /** Keeps what a pass saw, and tells what changed. */
  #take(done: PassResult): void {
    const { metrics } = this.#options;
    const places = new Set(done.desired.map(placeOf));
    this.#damages.keepOnly(places);
    this.#spread.keepOnly(places);
    this.#tags.keepOnly(places);
    for (const cache of done.desired) {
      if (done.plan.labels.get(cache.name) === "synced") this.#spread.completed(cache);
    }
    metrics.states(done.plan.labels);
    metrics.orphans(done.plan.orphans);
    metrics.cachePaths(done.scanned);
    this.#last = done;
  }

  #removed(path: string, removed: readonly Removed[]): void {
    const { log, metrics } = this.#options;
    for (const { kind, entry } of removed) {
      if (kind === "directory")
        log.info("collected a directory", { directory: `${path}/${entry}` });
      else log.info("cleared up after a run that was cut short", { directory: `${path}/${entry}` });
    }
    metrics.collected(removed.filter(({ kind }) => kind === "directory").length);
  }

  /** What stays wrong is said once, not with every try. */
  #failed(error: unknown, delayMs: number): void {
    const all: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
    const problems = all.map(String).join("\n");
    if (problems === this.#problems) return;
    this.#problems = problems;
    for (const each of all) {
      this.#options.log.error("a pass met a problem", {
        error: each,
        retryMs: Math.round(delayMs),
      });
    }
  }

  #followTags(): void {
    if (this.#last === undefined) return;
    this.#tags.ask(this.#last, this.#alive).catch((error: unknown) => {
      this.#life.abort(error);
    });
  }

  #setRest(): void {
    this.#rest.clear();
    this.#rest.set(this.#options.clock.monotonic() + restMs);
  }

  #setResync(): void {
    const { resyncMs, random, clock } = this.#options;
    // A tenth around, so that the nodes of a fleet that was started at once do not stay in step.
    if (resyncMs > 0) this.#resync.set(clock.monotonic() + resyncMs * (0.9 + random() / 5));
  }
}

function countStates(report: WatchReport): Record<FileWatchState, number> {
  const counts = { open: 0, absent: 0, failed: 0 };
  for (const { state } of report) counts[state] += 1;
  return counts;
}
