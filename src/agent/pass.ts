import type { Removed } from "../cache/collect.ts";
import { LarderError } from "../errors.ts";
import type { Clock } from "../registry/clock.ts";
import { placeOf, type CacheSpec } from "./cache-spec.ts";
import type { Declared } from "./declared.ts";
import type { Sync } from "./labels.ts";
import { lookAt, type Look, type OpenStore } from "./look.ts";
import { withSeen, type Delays, type Found, type Orphan } from "./orphans.ts";
import { plan, type Plan, type Wanted } from "./plan.ts";
import type { Job } from "./pulls.ts";
import type { Recollection } from "./recollection.ts";

/** What a pass works with; it keeps nothing itself. */
export interface PassTools {
  /** What the cluster declares, or the memory in its place. */
  readonly declared: () => Declared;
  readonly defaultPath: string;
  readonly open: OpenStore;
  readonly recollection: Recollection;
  /** Why a complete directory is to be filled anew, by place. */
  readonly damaged: ReadonlyMap<string, string>;
  readonly moved: ReadonlySet<string>;
  readonly delays: Delays;
  /** Watches every cache path, there or not, and the directories in it that matter. */
  readonly watch: (wanted: ReadonlyMap<string, ReadonlySet<string>>) => void;
  /** Sets the labels, waiting no longer than a repair may. */
  readonly label: (declared: Declared, labels: ReadonlyMap<string, Sync>) => Promise<void>;
  readonly pull: (jobs: readonly Job[]) => void;
  /** Monotonic milliseconds before which a resource is not to be pulled. */
  readonly notBefore: (wanted: Wanted) => number;
  readonly removed: (cachePath: string, removed: readonly Removed[]) => void;
  readonly clock: Clock;
}

/** What a pass saw, for whoever watches files and keeps figures. */
export interface PassResult {
  readonly desired: readonly CacheSpec[];
  readonly looks: ReadonlyMap<string, Look>;
  readonly plan: Plan;
  /** Cache paths that could be looked at. */
  readonly scanned: readonly string[];
  /** What went wrong; everything else was done all the same. */
  readonly problems: readonly LarderError[];
}

/**
 * One pass: reads the present and converges. Pulls are started, not waited for. Each step is tried
 * whatever became of the one before.
 *
 * @throws the signal's reason, or a fault of Larder's own
 */
export async function pass(tools: PassTools, signal: AbortSignal): Promise<PassResult> {
  const { recollection, defaultPath, open, clock } = tools;
  const problems = new Problems(signal);
  const { orphans: orphansBefore } = recollection.memory;
  const declared = tools.declared();
  const { desired } = declared;
  const paths = [...new Set([defaultPath, ...declared.paths, ...recollection.memory.paths])].sort();
  const found = await findAll(paths, open, problems);
  // Before anything is called complete: what happens to it from then on is heard of.
  tools.watch(toWatch(paths, found, desired));
  const looks = await lookAtAll(desired, open, signal);
  const decided = plan({
    desired,
    looks,
    damaged: tools.damaged,
    moved: tools.moved,
    found: [...found].flatMap(([cachePath, names]) => names.map((name) => ({ cachePath, name }))),
    scanned: new Set(found.keys()),
    orphans: recollection.memory.orphans,
    mayCollect: declared.current,
    delays: tools.delays,
    date: clock.date(),
  });
  const { memory } = recollection;
  const known = declared.node === undefined ? memory.desired : desired;
  // What ended meanwhile was a claim still in what this pass goes by.
  const ended = memory.orphans.filter((orphan) => !orphansBefore.includes(orphan));
  const orphans = ended.reduce(
    (all: readonly Orphan[], orphan) => withSeen(all, orphan, orphan.since),
    decided.orphans,
  );
  recollection.set({ paths, desired: known, orphans });
  await problems.of(() => recollection.keep());
  await problems.of(() => tools.label(declared, decided.labels));
  for (const cache of decided.adopt) {
    await problems.of(
      async () => void (await (await open(cache.cachePath)).adopt(cache.name, signal)),
    );
  }
  for (const cachePath of found.keys()) {
    await problems.of(async () => {
      tools.removed(cachePath, await collectIn(cachePath, decided.due, tools));
    });
  }
  tools.pull(decided.pulls.map((wanted) => ({ ...wanted, notBefore: tools.notBefore(wanted) })));
  return {
    desired,
    looks,
    plan: decided,
    scanned: [...found.keys()],
    problems: problems.all,
  };
}

/** Goes on after a failure, and remembers it. */
class Problems {
  readonly all: LarderError[] = [];
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  async of(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#signal.throwIfAborted();
      if (!(error instanceof LarderError)) throw error;
      this.all.push(error);
    }
  }
}

async function lookAtAll(
  desired: readonly CacheSpec[],
  open: OpenStore,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Look>> {
  const looks = new Map<string, Look>();
  for (const cache of desired) looks.set(cache.name, await lookAt(cache, open, signal));
  return looks;
}

/** By path; one that is not there, or that nothing is mounted on, has no entry. */
async function findAll(
  paths: readonly string[],
  open: OpenStore,
  problems: Problems,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>();
  for (const path of paths) {
    await problems.of(async () => {
      try {
        found.set(path, (await open(path)).collectable());
      } catch (error) {
        // The resource that names it says so; one that was only seen earlier is nobody's concern.
        if (!(error instanceof LarderError && error.code === "cache-path")) throw error;
      }
    });
  }
  return found;
}

/** Asks the cluster again before each: the labels may have taken a while, and a claim may be back. */
async function collectIn(
  cachePath: string,
  due: readonly Orphan[],
  { open, declared }: PassTools,
): Promise<readonly Removed[]> {
  const names = new Set(due.filter((orphan) => orphan.cachePath === cachePath).map((o) => o.name));
  const store = await open(cachePath);
  // Every sentinel was read twice by now: without anything due, nobody needs to a third time.
  if (names.size === 0) return store.sweep();
  return store.collect({
    mayRemove: (name) => names.has(name) && isUnclaimed(placeOf({ cachePath, name }), declared()),
  });
}

function isUnclaimed(place: string, { current, desired }: Declared): boolean {
  return current && !desired.some((cache) => placeOf(cache) === place);
}

/** Every path, there or not: a watch of one that is not is tried again with every pass. */
function toWatch(
  paths: readonly string[],
  found: ReadonlyMap<string, readonly string[]>,
  desired: readonly CacheSpec[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const claimed = (path: string): readonly Found[] =>
    desired.filter(({ cachePath }) => cachePath === path);
  return new Map(
    paths.map((path) => [
      path,
      new Set([...(found.get(path) ?? []), ...claimed(path).map(({ name }) => name)]),
    ]),
  );
}
