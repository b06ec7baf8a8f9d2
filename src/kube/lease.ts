import { asObject, member, type JsonObject } from "../registry/json.ts";
import { microTime } from "./micro-time.ts";
import type { KubeObject } from "./object.ts";

/** A Lease (coordination.k8s.io/v1), as far as an election reads it. */
export interface Lease {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Empty: nobody holds it. */
  readonly holder: string;
  /** Milliseconds for which the holder may go on without renewing; undefined where it says nothing. */
  readonly durationMs: number | undefined;
  /** How often it changed hands. */
  readonly transitions: number;
  /** The whole of it: what others wrote into it stays. */
  readonly object: KubeObject;
}

/** What was seen of a lease, and since when it is like that by the own clock, nobody else's. */
export interface Sighting {
  /** Undefined: there is none. */
  readonly lease: Lease | undefined;
  /** Milliseconds, monotonic: when it was first seen in this state. */
  readonly since: number;
  /** Milliseconds from then on in which somebody may still believe to hold it. */
  readonly heldMs: number;
}

/** What a candidate does. */
export type Decision =
  | { readonly kind: "take" }
  | { readonly kind: "wait"; readonly milliseconds: number };

export function parseLease(object: KubeObject): Lease {
  const { uid = "", resourceVersion = "" } = object.metadata;
  const spec = specOf(object);
  const holder = member(spec, "holderIdentity");
  const seconds = member(spec, "leaseDurationSeconds");
  const transitions = member(spec, "leaseTransitions");
  return {
    uid,
    resourceVersion,
    holder: typeof holder === "string" ? holder : "",
    durationMs: typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined,
    transitions: typeof transitions === "number" ? transitions : 0,
    object,
  };
}

/**
 * What is known after a look. Any write at all counts as a sign of life: the dates in a lease are of
 * another machine's clock, which may be wrong, or stand still.
 *
 * @param before the look before; undefined: this is the first
 * @param now monotonic, when the answer had come
 * @param leaseMs how long a lease lasts that does not say so itself
 */
export function sight(
  before: Sighting | undefined,
  lease: Lease | undefined,
  now: number,
  leaseMs: number,
): Sighting {
  if (before !== undefined && isSame(before.lease, lease)) return before;
  if (lease !== undefined) {
    const heldMs = lease.holder === "" ? 0 : (lease.durationMs ?? leaseMs);
    return { lease, since: now, heldMs };
  }
  // Somebody deleted it; who held it may not know that yet.
  const heldMs = before === undefined ? 0 : (before.lease?.durationMs ?? leaseMs);
  return { lease, since: now, heldMs: before === undefined ? 0 : Math.max(heldMs, leaseMs) };
}

/** Whether a candidate may take a lease now, or how long it has to look on at least. */
export function decide(
  { lease, since, heldMs }: Sighting,
  identity: string,
  now: number,
): Decision {
  // Its own: a write whose answer was lost, or one that it could not renew in time.
  if (lease?.holder === identity) return { kind: "take" };
  const milliseconds = since + heldMs - now;
  return milliseconds <= 0 ? { kind: "take" } : { kind: "wait", milliseconds };
}

/** How a holder writes itself into a lease. */
export interface Claim {
  readonly identity: string;
  /** Milliseconds; the API has whole seconds, and one at least. */
  readonly leaseMs: number;
  /** Milliseconds since 1970. */
  readonly date: number;
}

/** The object that takes or renews a lease; undefined `lease`: the first one under that name. */
export function claimed(
  lease: Lease | undefined,
  place: { readonly name: string; readonly namespace: string },
  { identity, leaseMs, date }: Claim,
): KubeObject {
  const now = microTime(date);
  const changed = lease?.holder !== identity;
  const object = lease?.object ?? { metadata: place };
  return {
    ...object,
    spec: {
      ...specOf(object),
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseMs / 1000),
      renewTime: now,
      ...(changed && { acquireTime: now, leaseTransitions: transitionsAfter(lease) }),
    },
  };
}

/** The object that gives a lease back, so that the next one need not wait until it is over. */
export function released({ object }: Lease, date: number): KubeObject {
  const spec = { ...specOf(object), holderIdentity: "", leaseDurationSeconds: 1 };
  return { ...object, spec: { ...spec, renewTime: microTime(date) } };
}

function transitionsAfter(lease: Lease | undefined): number {
  return lease === undefined ? 0 : lease.transitions + 1;
}

function isSame(a: Lease | undefined, b: Lease | undefined): boolean {
  return a?.uid === b?.uid && a?.resourceVersion === b?.resourceVersion;
}

function specOf(object: KubeObject): JsonObject {
  return asObject(member(object, "spec")) ?? {};
}
