import assert from "node:assert/strict";
import { test } from "node:test";

import { startMisbehavingApiServer } from "../../testbed/misbehaving-api-server.ts";
import { until } from "../../testbed/until.ts";
import { Client } from "../kube/client.ts";
import { nodes } from "../kube/resource.ts";
import { systemClock } from "../registry/clock.ts";
import { ClusterWatch } from "./cluster.ts";

test("an API server that stays away is told of once a kind, and makes no pass with every try", async (t) => {
  const server = await startMisbehavingApiServer({ resource: nodes });
  const access = server.access();
  await server.stop();
  let failed = 0;
  const client = new Client({
    access,
    userAgent: "test/0",
    onContact: (ok) => {
      if (!ok) failed += 1;
    },
  });
  const told: string[] = [];
  let changed = 0;
  const cluster = new ClusterWatch({
    client,
    nodeName: "n",
    defaultPath: "/var/lib/image-cache",
    changed: () => {
      changed += 1;
    },
    onWatch: (kind, live) => told.push(`${kind} ${live}`),
    onProblem: () => {},
    released: () => {},
    clock: systemClock,
    random: () => 0,
  });
  const stop = new AbortController();
  const running = cluster.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
    client.close();
  });
  await until("both were tried three times", () => failed >= 6);
  assert.deepEqual(told.sort(), ["ImageCache false", "Node false"]);
  assert.equal(changed, 2);
});
