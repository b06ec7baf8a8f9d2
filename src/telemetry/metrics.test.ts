import assert from "node:assert/strict";
import { closeSync, openSync } from "node:fs";
import { test } from "node:test";

import { Metrics } from "./metrics.ts";
import { addProcessMetrics } from "./process-metrics.ts";

/** The series of a text, as name and labels to value. */
async function seriesOf(metrics: Metrics): Promise<Record<string, number>> {
  const lines = (await metrics.text()).split("\n").filter((line) => /^[^#]/.test(line));
  return Object.fromEntries(
    lines.map((line) => {
      const [, series = "", value] = /^(.*) (\S+)$/.exec(line) ?? [];
      return [series, Number(value)];
    }),
  );
}

const buckets = [0.5, 5];

test("every series whose labels are known is there at zero before anything happens", async () => {
  const metrics = new Metrics();
  metrics.counter({ name: "a_total", help: "A" });
  metrics.counter({ name: "b_total", help: "B", labels: { reason: ["x", "y"] } });
  metrics.gauge({ name: "c", help: "C", labels: { p: ["1", "2"], q: ["3"] } });
  metrics.gauge({ name: "d", help: "D", labels: { name: "any", state: ["on", "off"] } });
  metrics.histogram({ name: "e_seconds", help: "E", labels: { result: ["ok"] }, buckets });
  metrics.histogram({ name: "f_seconds", help: "F", buckets });
  assert.deepEqual(await seriesOf(metrics), {
    a_total: 0,
    'b_total{reason="x"}': 0,
    'b_total{reason="y"}': 0,
    'c{p="1",q="3"}': 0,
    'c{p="2",q="3"}': 0,
    'e_seconds_bucket{le="0.5",result="ok"}': 0,
    'e_seconds_bucket{le="5",result="ok"}': 0,
    'e_seconds_bucket{le="+Inf",result="ok"}': 0,
    'e_seconds_sum{result="ok"}': 0,
    'e_seconds_count{result="ok"}': 0,
    'f_seconds_bucket{le="0.5"}': 0,
    'f_seconds_bucket{le="5"}': 0,
    'f_seconds_bucket{le="+Inf"}': 0,
    f_seconds_sum: 0,
    f_seconds_count: 0,
  });
});

test("counters add up, gauges are set, histograms count", async () => {
  const metrics = new Metrics();
  const counter = metrics.counter({ name: "a_total", help: "A", labels: { reason: ["x", "y"] } });
  const gauge = metrics.gauge({ name: "b", help: "B" });
  const histogram = metrics.histogram({ name: "c_seconds", help: "C", buckets });
  counter.add(2, { reason: "x" });
  counter.add(3, { reason: "x" });
  gauge.set(5);
  gauge.set(-1.5);
  for (const value of [0.1, 0.5, 2, 100]) histogram.observe(value);
  assert.deepEqual(await seriesOf(metrics), {
    'a_total{reason="x"}': 5,
    'a_total{reason="y"}': 0,
    b: -1.5,
    'c_seconds_bucket{le="0.5"}': 2,
    'c_seconds_bucket{le="5"}': 3,
    'c_seconds_bucket{le="+Inf"}': 4,
    c_seconds_sum: 102.6,
    c_seconds_count: 4,
  });
});

test("a replaced gauge has the new series and none of the old ones", async () => {
  const metrics = new Metrics();
  const gauge = metrics.gauge({ name: "a", help: "A", labels: { name: "any" } });
  gauge.replace([
    [{ name: "one" }, 1],
    [{ name: "two" }, 2],
  ]);
  gauge.replace([[{ name: "two" }, 3]]);
  assert.deepEqual(await seriesOf(metrics), { 'a{name="two"}': 3 });
  gauge.replace([]);
  assert.deepEqual(await seriesOf(metrics), {});
});

test("two registries know nothing of each other", async () => {
  const [one, two] = [new Metrics(), new Metrics()];
  one.counter({ name: "a_total", help: "A" }).add(1);
  two.counter({ name: "a_total", help: "A" });
  assert.deepEqual(await seriesOf(two), { a_total: 0 });
});

test("labels and values that were not declared are type errors", () => {
  const metrics = new Metrics();
  const counter = metrics.counter({ name: "a_total", help: "A", labels: { reason: ["x", "y"] } });
  const plain = metrics.counter({ name: "b_total", help: "B" });
  const never = (): void => {
    // @ts-expect-error no such value
    counter.add(1, { reason: "z" });
    // @ts-expect-error a label is missing
    counter.add(1);
    // @ts-expect-error no label was declared
    plain.add(1, { reason: "x" });
  };
  assert.throws(() => {
    // @ts-expect-error no such label
    counter.add(1, { reason: "x", other: "y" });
  }, /other/);
  assert.equal(typeof never, "function");
});

test("a text waits for values that are looked up when it is asked for", async () => {
  const metrics = new Metrics();
  const gauge = metrics.gauge({ name: "a", help: "A" });
  let looked = 0;
  metrics.beforeReading(async () => {
    await Promise.resolve();
    looked += 1;
    gauge.set(looked);
  });
  assert.deepEqual(await seriesOf(metrics), { a: 1 });
  assert.deepEqual(await seriesOf(metrics), { a: 2 });
});

test("the process metrics are this process's", async () => {
  const metrics = new Metrics();
  addProcessMetrics(metrics);
  const before = await seriesOf(metrics);
  const file = openSync("/dev/null", "r");
  const end = performance.now() + 20;
  while (performance.now() < end) Math.hypot(1, 2);
  const after = await seriesOf(metrics);
  closeSync(file);
  const rss = after["process_resident_memory_bytes"] ?? 0;
  assert.ok(Math.abs(rss / process.memoryUsage.rss() - 1) < 0.2, `${rss}`);
  const age = Date.now() / 1000 - (after["process_start_time_seconds"] ?? 0);
  assert.ok(Math.abs(age - process.uptime()) < 1, `${age} seconds old`);
  const used = (metric: string): number => (after[metric] ?? 0) - (before[metric] ?? 0);
  assert.ok(used("process_cpu_seconds_total") >= 0.01);
  assert.equal(used("process_open_fds"), 1);
  const { user, system } = process.cpuUsage();
  assert.ok((after["process_cpu_seconds_total"] ?? 0) <= (user + system) / 1e6);
});
