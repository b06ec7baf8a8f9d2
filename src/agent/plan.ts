import { belongsToAgent } from "../cache/sentinel.ts";
import { placeOf, type CacheSpec } from "./cache-spec.ts";
import type { Sync } from "./labels.ts";
import type { Look } from "./look.ts";
import { dueAt, nextOrphans, type Delays, type Found, type Orphan } from "./orphans.ts";

/** All that a pass decides by. */
export interface Facts {
  /** The resources that this node shall have. */
  readonly desired: readonly CacheSpec[];
  /** What stands on the disk, by resource name. */
  readonly looks: ReadonlyMap<string, Look>;
  /** Why a directory that looks complete is not, by place: a file differs from its checksum. */
  readonly damaged: ReadonlyMap<string, string>;
  /** Places whose tag names another image by now. */
  readonly moved: ReadonlySet<string>;
  /** Directories that are the agent's or nobody's, in the paths that could be looked at. */
  readonly found: readonly Found[];
  readonly scanned: ReadonlySet<string>;
  readonly orphans: readonly Orphan[];
  /** Only what was heard from the API server, over watches that are open, counts for collecting. */
  readonly mayCollect: boolean;
  readonly delays: Delays;
  /** Milliseconds since 1970. */
  readonly date: number;
}

/** A resource to be pulled. */
export interface Wanted {
  readonly cache: CacheSpec;
  readonly force: boolean;
  readonly because: string;
}

export interface Plan {
  /** By resource name. */
  readonly labels: ReadonlyMap<string, Sync>;
  readonly pulls: readonly Wanted[];
  /** Complete, and not the agent's yet. */
  readonly adopt: readonly CacheSpec[];
  readonly orphans: readonly Orphan[];
  /** Orphans that may go now. */
  readonly due: readonly Orphan[];
  /** Milliseconds until the next one may, or one that is held now is tried again; undefined: none is. */
  readonly nextDueMs: number | undefined;
}

/** What is due now may be held by a run that is about to end, of whose end nothing tells. */
const heldMs = 10_000;

/** What a node has to do, from what it knows. Pure. */
export function plan(facts: Facts): Plan {
  const judged = facts.desired.map((cache) => ({ cache, ...judge(cache, facts) }));
  return {
    labels: new Map(
      judged.map(({ cache, wanted }) => [cache.name, wanted === undefined ? "synced" : "pending"]),
    ),
    pulls: judged.flatMap(({ wanted }) => wanted ?? []),
    adopt: judged.flatMap(({ cache, adopt }) => (adopt ? [cache] : [])),
    ...collecting(facts),
  };
}

function judge(
  cache: CacheSpec,
  { looks, damaged, moved }: Facts,
): { readonly wanted?: Wanted; readonly adopt: boolean } {
  const look = looks.get(cache.name) ?? { kind: "failed", why: "it was not looked at" };
  if (look.kind !== "complete") {
    return { wanted: { cache, force: false, because: `${look.kind}: ${look.why}` }, adopt: false };
  }
  const place = placeOf(cache);
  const damage = damaged.get(place);
  const because = damage ?? (moved.has(place) ? "its tag names another image" : undefined);
  // Claimed for the first time: from now on, collecting it is the agent's business.
  const adopt = !belongsToAgent(look.sentinel);
  return because === undefined ? { adopt } : { wanted: { cache, force: true, because }, adopt };
}

function collecting(facts: Facts): Pick<Plan, "orphans" | "due" | "nextDueMs"> {
  const { date, delays } = facts;
  if (!facts.mayCollect) return { orphans: facts.orphans, due: [], nextDueMs: undefined };
  const orphans = nextOrphans(facts.orphans, facts.found, facts.scanned, facts.desired, date);
  const due = orphans.filter((orphan) => dueAt(orphan, delays) <= date);
  const waits = orphans.map((orphan) => dueAt(orphan, delays) - date);
  const nextDueMs = Math.min(...waits.map((ms) => (ms > 0 ? ms : heldMs)));
  return { orphans, due, nextDueMs: nextDueMs === Infinity ? undefined : nextDueMs };
}
