import assert from "node:assert/strict";
import { test } from "node:test";

import { LeapingClock } from "../../test/registry/client.ts";
import { errorCodes, InsufficientDiskError, LarderError } from "../errors.ts";
import { systemClock } from "../registry/clock.ts";
import { AgentMetrics, type AgentMetricsOptions } from "./metrics.ts";

const parts = { what: "cannot get app:1", why: "it is not there", todo: "push it" };

function start(options: Partial<AgentMetricsOptions> = {}) {
  const clock = new LeapingClock();
  const agent = new AgentMetrics({
    version: "1.2.3",
    node: "worker-1",
    minFree: { percent: 15 },
    clock,
    ...options,
  });
  /** The series of one metric, without its name: labels to value. */
  const series = async (name: string): Promise<Record<string, number>> => {
    const lines = (await agent.metrics.text()).split("\n");
    const found = lines.flatMap((line) => {
      const match = /^([a-z_]+)(\{.*\})? (\S+)$/.exec(line);
      return match?.[1] === name ? [[match[2] ?? "", Number(match[3])] as const] : [];
    });
    return Object.fromEntries(found);
  };
  return { agent, clock, series };
}

test("everything that is known in advance is there at zero from the start", async () => {
  const { agent, series } = start();
  const later = ["larder_image_cache_state", "larder_build_info"];
  for (const { name, type } of agent.metrics.descriptions) {
    if (!name.startsWith("larder_") || later.includes(name)) continue;
    const values = Object.values(await series(type === "histogram" ? `${name}_count` : name));
    if (name.startsWith("larder_disk_")) assert.deepEqual(values, [], name);
    else assert.ok(values.length > 0 && values.every((value) => value === 0), name);
  }
  const reasons = Object.keys(await series("larder_pulls_failed_total"));
  assert.deepEqual(
    reasons,
    errorCodes.map((code) => `{reason="${code}"}`),
  );
});

test("it says which version runs on which node", async () => {
  const { series } = start();
  const labels = `{version="1.2.3",node="worker-1",runtime="${process.version}"}`;
  assert.deepEqual(await series("larder_build_info"), { [labels]: 1 });
});

test("an ImageCache is in one state, and gone from the figures when it is gone", async () => {
  const { agent, series } = start();
  agent.states(
    new Map([
      ["one", "pending"],
      ["two", "synced"],
    ]),
  );
  assert.deepEqual(await series("larder_image_cache_state"), {
    '{name="one",state="synced"}': 0,
    '{name="one",state="pending"}': 1,
    '{name="two",state="synced"}': 1,
    '{name="two",state="pending"}': 0,
  });
  agent.states(new Map([["one", "synced"]]));
  assert.deepEqual(await series("larder_image_cache_state"), {
    '{name="one",state="synced"}': 1,
    '{name="one",state="pending"}': 0,
  });
});

const going = new AbortController().signal;

test("a pull that was called off has neither succeeded nor failed", async () => {
  const { agent, series } = start();
  await assert.rejects(agent.pull(() => Promise.reject(new Error("off")), AbortSignal.abort()));
  const failed = await series("larder_pulls_failed_total");
  assert.ok(Object.values(failed).every((count) => count === 0));
  assert.deepEqual(await series("larder_pulls_running"), { "": 0 });
});

test("a pull is counted while it runs, and by how it ends and how long it took", async () => {
  const { agent, clock, series } = start();
  const work = Promise.withResolvers<string>();
  const pull = agent.pull(() => work.promise, going);
  assert.deepEqual(await series("larder_pulls_started_total"), { "": 1 });
  assert.deepEqual(await series("larder_pulls_running"), { "": 1 });
  clock.leap(12_000);
  work.resolve("done");
  assert.equal(await pull, "done");
  assert.deepEqual(await series("larder_pulls_running"), { "": 0 });
  assert.deepEqual(await series("larder_pulls_succeeded_total"), { "": 1 });
  assert.deepEqual(await series("larder_pull_duration_seconds_sum"), {
    '{result="succeeded"}': 12,
    '{result="failed"}': 0,
  });
});

test("a failed pull is counted by the code of its error, and its error goes on", async () => {
  const { agent, series } = start();
  for (const [error, reason] of [
    [new LarderError("not-found", parts), "not-found"],
    [new InsufficientDiskError(1, parts), "disk"],
    [new LarderError("interrupted", parts), "interrupted"],
    [new TypeError("x is not a y"), "internal"],
  ] as const) {
    await assert.rejects(
      agent.pull(() => Promise.reject(error), going),
      error,
    );
    assert.equal((await series("larder_pulls_failed_total"))[`{reason="${reason}"}`], 1);
  }
  assert.deepEqual(await series("larder_pulls_running"), { "": 0 });
  assert.deepEqual(await series("larder_pulls_succeeded_total"), { "": 0 });
  assert.equal((await series("larder_pull_duration_seconds_count"))['{result="failed"}'], 4);
});

test("bytes add up", async () => {
  const { agent, series } = start();
  agent.received(1000);
  agent.received(24);
  assert.deepEqual(await series("larder_pulled_bytes_total"), { "": 1024 });
});

test("a pass succeeds when nothing was wrong with it", async () => {
  const { agent, clock, series } = start();
  const problem = new LarderError("disk", parts);
  await agent.pass(async () => {
    clock.leap(30);
    return { problems: [] };
  });
  const { problems } = await agent.pass(async () => ({ problems: [problem] }));
  assert.deepEqual(problems, [problem]);
  await assert.rejects(
    agent.pass(() => Promise.reject(problem)),
    problem,
  );
  assert.deepEqual(await series("larder_passes_total"), {
    '{result="succeeded"}': 1,
    '{result="failed"}': 2,
  });
  assert.deepEqual(await series("larder_pass_duration_seconds_count"), { "": 3 });
  assert.deepEqual(await series("larder_pass_duration_seconds_sum"), { "": 0.03 });
});

test("the last contact with the API server stays when the API server goes", async () => {
  const { agent, clock, series } = start();
  agent.contact(true);
  const then = clock.date() / 1000;
  clock.leap(60_000);
  agent.contact(false);
  assert.deepEqual(await series("larder_api_server_reachable"), { "": 0 });
  assert.deepEqual(await series("larder_api_server_last_contact_timestamp_seconds"), { "": then });
  agent.contact(true);
  assert.deepEqual(await series("larder_api_server_reachable"), { "": 1 });
});

test("watches are shown by kind and by state", async () => {
  const { agent, series } = start();
  agent.watch("Node", true);
  agent.fileWatches({ open: 3, absent: 1, failed: 2 });
  assert.deepEqual(await series("larder_watch_open"), {
    '{kind="ImageCache"}': 0,
    '{kind="Node"}': 1,
  });
  assert.deepEqual(await series("larder_file_watches"), {
    '{state="open"}': 3,
    '{state="absent"}': 1,
    '{state="failed"}': 2,
  });
});

test("orphans are told apart by how they came to be, and counted when they are collected", async () => {
  const { agent, series } = start();
  agent.orphans([{ seen: true }, { seen: false }, { seen: false }]);
  agent.collected(2);
  agent.eventsDropped(3);
  assert.deepEqual(await series("larder_orphans"), {
    '{cause="deleted"}': 1,
    '{cause="missing"}': 2,
  });
  assert.deepEqual(await series("larder_directories_collected_total"), { "": 2 });
  assert.deepEqual(await series("larder_events_dropped_total"), { "": 3 });
});

test("how full a disk is is looked up when somebody asks, as far as there is an answer", async () => {
  let bavail = 30;
  const { agent, series } = start({
    clock: systemClock,
    askDisk: async (path) => {
      if (path === "/gone") throw new Error("ENOENT");
      return { bsize: 1000, frsize: 1000, blocks: 100, bavail };
    },
  });
  agent.cachePaths(["/a", "/gone", "/a"]);
  assert.deepEqual(await series("larder_disk_size_bytes"), { '{path="/a"}': 100_000 });
  assert.deepEqual(await series("larder_disk_reserve_bytes"), { '{path="/a"}': 15_000 });
  assert.deepEqual(await series("larder_disk_free_bytes"), { '{path="/a"}': 30_000 });
  bavail = 10;
  assert.deepEqual(await series("larder_disk_free_bytes"), { '{path="/a"}': 10_000 });
  agent.cachePaths([]);
  assert.deepEqual(await series("larder_disk_free_bytes"), {});
});
