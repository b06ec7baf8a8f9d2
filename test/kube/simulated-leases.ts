import type { Client } from "../../src/kube/client.ts";
import { ApiError } from "../../src/kube/api-error.ts";
import type { KubeObject } from "../../src/kube/object.ts";
import type { Clock } from "../../src/registry/clock.ts";
import type { HandClock } from "../../testbed/hand-clock.ts";

/** How a machine's clock differs from the true time. */
export interface Bend {
  /** 1.1: a tenth too fast. */
  readonly rate: number;
  /** Milliseconds. */
  readonly monotonicOffset: number;
  readonly dateOffset: number;
  /** The date stands still. */
  readonly frozenDate: boolean;
}

export const straight: Bend = { rate: 1, monotonicOffset: 0, dateOffset: 0, frozenDate: false };

/** A machine's clock as its programs see it. */
export function bentClock(time: HandClock, bend: Bend): Clock {
  return {
    monotonic: () => bend.monotonicOffset + time.monotonic() * bend.rate,
    date: () => time.date() * (bend.frozenDate ? 0 : 1) + bend.dateOffset,
    // As timers do: never early, and late by up to a millisecond.
    sleep: async (milliseconds, signal) => time.sleep(Math.ceil(milliseconds / bend.rate), signal),
  };
}

/** What becomes of one request. */
export interface Fate {
  /** Milliseconds until the server does it, and until the answer is back. */
  readonly there: number;
  readonly back: number;
  /** `refused`: with 503, not done. `done, refused`: with 503, but done. `unanswered`: done, no answer. */
  readonly outcome: "answered" | "refused" | "done, refused" | "unanswered";
}

/** One candidate's way to the store. */
export interface Link {
  cut: boolean;
  fate: () => Fate;
}

const never = new AbortController().signal;

/** A lease as an API server keeps it, over networks that delay, lose and cut. */
export class SimulatedLeases {
  readonly #time: HandClock;
  lease: KubeObject | undefined;
  #version = 0;
  #uid = 0;

  constructor(time: HandClock) {
    this.#time = time;
  }

  get spec(): Readonly<Record<string, unknown>> {
    const spec = this.lease?.["spec"];
    return typeof spec === "object" && spec !== null ? { ...spec } : {};
  }

  /** A write by hand. */
  edit(change: (lease: KubeObject) => KubeObject): void {
    if (this.lease !== undefined) this.#write(change(this.lease));
  }

  client(link: Link): Pick<Client, "get" | "create" | "update"> {
    return {
      get: async (_resource, _name, { signal }) => this.#ask(link, signal, () => this.lease),
      create: async (_resource, object, { signal }) =>
        this.#ask(link, signal, () => {
          if (this.lease !== undefined) throw refusal(409, "AlreadyExists");
          this.#uid += 1;
          const { metadata } = object;
          return this.#write({ ...object, metadata: { ...metadata, uid: `uid-${this.#uid}` } });
        }),
      update: async (_resource, object, { signal }) =>
        this.#ask(link, signal, () => {
          if (this.lease === undefined) throw refusal(404, "NotFound");
          const { uid, resourceVersion } = this.lease.metadata;
          const same =
            uid === object.metadata.uid && resourceVersion === object.metadata.resourceVersion;
          if (!same) throw refusal(409, "Conflict");
          return this.#write(object);
        }),
    };
  }

  #write(object: KubeObject): KubeObject {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    this.lease = { ...object, metadata };
    return this.lease;
  }

  /** What a client gave up may still be done: a request on its way does not turn back. */
  #ask<T>(link: Link, signal: AbortSignal, act: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        reject(refusal(0, ""));
      };
      if (signal.aborted) abort();
      signal.addEventListener("abort", abort, { once: true });
      const answer = (reply: () => void): void => {
        signal.removeEventListener("abort", abort);
        reply();
      };
      void this.#travel(link, act).then((outcome) => {
        if (outcome === undefined) return;
        answer(() => {
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.value);
        });
      });
    });
  }

  /** @returns undefined: no answer ever comes */
  async #travel<T>(
    link: Link,
    act: () => T,
  ): Promise<{ readonly value: T } | { readonly error: ApiError } | undefined> {
    const { there, back, outcome } = link.fate();
    if (link.cut) return undefined;
    await this.#time.sleep(there, never);
    if (link.cut) return undefined;
    const done = outcome === "refused" ? { error: refusal(503, "") } : settle(act);
    await this.#time.sleep(back, never);
    if (link.cut || outcome === "unanswered") return undefined;
    return outcome === "done, refused" ? { error: refusal(503, "") } : done;
  }
}

function settle<T>(act: () => T): { readonly value: T } | { readonly error: ApiError } {
  try {
    return { value: act() };
  } catch (error) {
    if (error instanceof ApiError) return { error };
    throw error;
  }
}

function refusal(status: number, reason: string): ApiError {
  return new ApiError({ status, reason, what: "cannot ask", why: "a test", todo: "nothing" });
}
