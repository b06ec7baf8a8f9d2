/** The benchmark's own arithmetic: numbers that are published have to be right. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { halfCompressible } from "../bench/content.ts";
import { goals } from "../bench/goals.ts";
import type { BenchImage } from "../bench/images.ts";
import { report } from "../bench/report.ts";
import { Results } from "../bench/results.ts";
import { spreadOf } from "../bench/statistics.ts";

const MiB = 1024 * 1024;

const image: BenchImage = {
  name: "real",
  title: "a real image's files, gzip",
  freshDisk: false,
  compression: "gzip",
  layout: "",
  layers: [{ digest: `sha256:${"0".repeat(64)}`, size: 500_000_000 }],
  bytes: 1_000_000_000,
  files: 3,
};

function resultsOf(larder: readonly number[], crane: readonly number[], peakMiB: number): Results {
  const results = new Results();
  for (const seconds of larder) {
    results.add(image, "larder", { seconds, cpuSeconds: 2 * seconds, peakBytes: peakMiB * MiB });
  }
  for (const seconds of crane) {
    results.add(image, "crane", { seconds, cpuSeconds: seconds, peakBytes: MiB });
  }
  return results;
}

test("a spread has the median, the smallest and the largest, in any order and number", () => {
  assert.deepEqual(spreadOf([5, 1, 3]), { median: 3, min: 1, max: 5 });
  assert.deepEqual(spreadOf([10, 9, 2, 1]), { median: 5.5, min: 1, max: 10 });
  assert.deepEqual(spreadOf([7]), { median: 7, min: 7, max: 7 });
});

test("the benchmark's content is the same every time and compresses about 2:1", () => {
  const content = halfCompressible(MiB, 1);
  assert.deepEqual(content, halfCompressible(MiB, 1));
  assert.notDeepEqual(content, halfCompressible(MiB, 2));
  const ratio = content.length / gzipSync(content).length;
  assert.ok(ratio > 1.8 && ratio < 2.1, `it compresses ${ratio}:1`);
});

test("content of a length that is no multiple of a piece is filled as well", () => {
  for (const bytes of [0, 1, 63, 65, 4096, 4099]) {
    assert.equal(halfCompressible(bytes, 1).length, bytes);
  }
});

test("a goal is judged by medians, and one that is missed says so", () => {
  const met = goals(resultsOf([1, 1, 9], [2.2, 2.2, 0.1], 127));
  assert.deepEqual(
    met.map((goal) => [goal.measured, goal.met]),
    [
      ["2.20 times", true],
      ["127 MiB", true],
      ["2.00", true],
    ],
  );
  const missed = goals(resultsOf([1], [1], 128));
  assert.deepEqual(
    missed.map((goal) => goal.met),
    [false, false, false],
  );
});

test("what was not measured is no goal met", () => {
  assert.deepEqual(goals(new Results()), []);
});

test("the report keeps losses: a ratio under 1 and a goal that was missed", () => {
  const page = report(resultsOf([2], [1], 64), ["2 cores"], 1);
  assert.match(page, /crane export.* \| 1\.00 \(1\.00 to 1\.00\) \| 0\.50 \|/);
  assert.match(page, /at least 2\.2 times \| 0\.50 times \| \*\*missed\*\*/);
});

test("a tool that cannot do an image has its cause in the table", () => {
  const results = resultsOf([1], [], 64);
  results.fail(image, "skopeo", "long words\nblob is not correct | mediatype");
  const page = report(results, [], 1);
  assert.match(page, /umoci unpack` \| failed: blob is not correct \\\| mediatype \|/);
  assert.match(page, /crane export.* \| not measured \|/);
});
