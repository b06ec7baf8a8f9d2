/** A process that speaks as some thousand agents; `bench/scale.ts` starts it and talks to it by IPC. */
import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";

import { Pace } from "./pace.ts";
import type { LoadState, ToLoad } from "./scale-messages.ts";
import { SimulatedNode } from "./simulated-node.ts";

const reportMs = 1000;
const lagStepMs = 20;

const fleet: SimulatedNode[] = [];
const life = new AbortController();
let spreadMs = 0;
let lost = 0;
let lagMs = 0;

process.on("message", (message: ToLoad) => {
  if (message.kind === "spread") spreadMs = message.ms;
  else void begin(message);
});
process.on("disconnect", () => {
  process.exit();
});

async function begin(load: Extract<ToLoad, { kind: "begin" }>): Promise<void> {
  const { seats, ca, pullMs, requestsPerSecond } = load;
  const pace = new Pace(requestsPerSecond);
  for (const seat of seats) {
    const node = new SimulatedNode({
      seat,
      ca,
      pace,
      pullMs,
      spreadMs: () => spreadMs,
      onLost: () => {
        lost += 1;
      },
    });
    fleet.push(node);
    void node.run(life.signal);
    await delay(2000 / requestsPerSecond);
  }
}

let lookedAt = performance.now();
setInterval(() => {
  const now = performance.now();
  lagMs = Math.max(lagMs, now - lookedAt - lagStepMs);
  lookedAt = now;
}, lagStepMs);

setInterval(() => {
  const synced: Record<string, number> = {};
  let live = 0;
  for (const node of fleet) {
    if (node.live) live += 1;
    for (const name of node.synced()) synced[name] = (synced[name] ?? 0) + 1;
  }
  const state: LoadState = { kind: "state", live, synced, lost, lagMs };
  lagMs = 0;
  process.send?.(state);
}, reportMs);
