import { setTimeout as delay } from "node:timers/promises";

import { labelPrefix } from "../src/api/image-cache.ts";
import { desiredOf, parseNode, type CacheSpec } from "../src/agent/cache-spec.ts";
import { ClusterWatch } from "../src/agent/cluster.ts";
import { LabelKeeper } from "../src/agent/label-keeper.ts";
import type { Sync } from "../src/agent/labels.ts";
import { syncedEvent } from "../src/agent/outcome.ts";
import { spreadDelay } from "../src/agent/spread.ts";
import { Client } from "../src/kube/client.ts";
import { EventRecorder } from "../src/kube/event-recorder.ts";
import { nodes } from "../src/kube/resource.ts";
import { systemClock } from "../src/registry/clock.ts";
import type { Digest } from "../src/registry/digest.ts";
import type { Pace } from "./pace.ts";
import { simulatedAgent, type NodeSeat } from "./scale-messages.ts";

const clock = systemClock;
const random = Math.random;
const digest: Digest = `sha256:${"0".repeat(64)}`;
/**
 * Longer than an agent's: thousands of nodes in one process make all their TLS handshakes one after
 * the other, and each would give up because of its neighbours.
 */
const patienceMs = 120_000;
const silent = { warn: () => {}, info: () => {} };

export interface SimulatedNodeOptions {
  readonly seat: NodeSeat;
  readonly ca: string;
  /** Shared by all whose requests go out from one process. */
  readonly pace: Pace;
  readonly pullMs: number;
  /** Milliseconds, as of now. */
  readonly spreadMs: () => number;
  readonly onLost: () => void;
}

/**
 * An agent without a disk: what it says to the API server is said by the agent's own parts (watches,
 * labels, events, connections of its own); only a pull is no more than a while.
 */
export class SimulatedNode {
  readonly #options: SimulatedNodeOptions;
  readonly #client: Client;
  readonly #cluster: ClusterWatch;
  readonly #labels: LabelKeeper;
  readonly #events: EventRecorder;
  /** By uid: its pull is under way, or over. */
  readonly #pulls = new Map<string, "runs" | "done">();
  #wanted = false;
  #busy = false;
  #signal = AbortSignal.abort();

  constructor(options: SimulatedNodeOptions) {
    const { seat, ca, pace, onLost } = options;
    this.#options = options;
    this.#client = new Client({
      access: {
        server: new URL(seat.server),
        tls: () => Promise.resolve({ ca }),
        authorization: async () => {
          await pace.turn();
          return `Bearer ${seat.token}`;
        },
      },
      userAgent: simulatedAgent,
      timeoutMs: patienceMs,
      clock,
    });
    this.#events = new EventRecorder({
      client: this.#client,
      component: "image-cache-agent",
      instance: seat.name,
    });
    this.#cluster = new ClusterWatch({
      client: this.#client,
      nodeName: seat.name,
      defaultPath: "/var/lib/image-cache",
      changed: () => {
        this.#trigger();
      },
      onWatch: (_kind, live, why) => {
        if (live) this.#labels.hurry();
        else if (why !== undefined) onLost();
      },
      onProblem: () => {},
      released: () => {},
      clock,
      random,
    });
    this.#labels = new LabelKeeper({
      prefix: labelPrefix,
      patch: async (labels, signal) => {
        const patch = { metadata: { labels } };
        return parseNode((await this.#client.patch(nodes, seat.name, patch, { signal })).metadata);
      },
      again: (afterMs) => {
        setTimeout(() => {
          this.#trigger();
        }, afterMs);
      },
      log: silent,
      clock,
      random,
    });
  }

  get live(): boolean {
    return this.#cluster.live;
  }

  /** Names of the caches that this node has, as its watch tells. */
  synced(): readonly string[] {
    return Object.entries(this.#cluster.node?.labels ?? {}).flatMap(([label, sync]) =>
      label.startsWith(labelPrefix) && sync === "synced" ? [label.slice(labelPrefix.length)] : [],
    );
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    await Promise.all([this.#cluster.run(signal), this.#events.run(signal)]);
    this.#client.close();
  }

  /** One pass at a time; what happens meanwhile is one more. */
  #trigger(): void {
    this.#wanted = true;
    if (this.#busy) return;
    this.#busy = true;
    void this.#passes().finally(() => {
      this.#busy = false;
    });
  }

  async #passes(): Promise<void> {
    while (this.#wanted && !this.#signal.aborted) {
      this.#wanted = false;
      await this.#pass();
    }
  }

  async #pass(): Promise<void> {
    const { node, caches, synced } = this.#cluster;
    if (!synced || node === undefined) return;
    const desired = desiredOf(caches, node.labels);
    const want = new Map<string, Sync>(
      desired.map(({ name, uid }) => [
        name,
        this.#pulls.get(uid) === "done" ? "synced" : "pending",
      ]),
    );
    await this.#labels.keep(node, want, this.#signal);
    for (const cache of desired) if (!this.#pulls.has(cache.uid)) void this.#pull(cache);
  }

  async #pull(cache: CacheSpec): Promise<void> {
    const { seat, spreadMs, pullMs } = this.#options;
    this.#pulls.set(cache.uid, "runs");
    await delay(spreadDelay(seat.name, cache.name, cache.source, spreadMs()) + pullMs);
    this.#pulls.set(cache.uid, "done");
    const sentinel = { digest, files: ["small.tar"] };
    this.#events.record(syncedEvent(cache, { result: "pulled", bytes: 5, sentinel }));
    this.#trigger();
  }
}
