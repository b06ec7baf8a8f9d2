import assert from "node:assert/strict";
import { test } from "node:test";

import { readQuery } from "./promql.ts";

const metrics = (expression: string): string[] =>
  readQuery(expression).selectors.map(({ metric }) => metric);

test("metrics are told from functions, aggregations, labels, operators and durations", () => {
  for (const [expression, expected] of [
    ["up", ["up"]],
    ["rate(a_total[5m])", ["a_total"]],
    ["sum by (x, y) (a) / on (x) group_left (z) b", ["a", "b"]],
    ["sum(a) by (x)", ["a"]],
    ["a > bool 5 and b offset 1h30m unless c or d == inf", ["a", "b", "c", "d"]],
    ["max_over_time((a > 0)[1h:5m])", ["a"]],
    ["histogram_quantile(0.95, sum without (x) (rate(a_bucket{le!='1'}[5m])))", ["a_bucket"]],
    ['time() - a:b:c{x="y, z{}"} @ end()', ["a:b:c"]],
    ["vector(1e3)", []],
  ] as const) {
    assert.deepEqual(metrics(expression), expected, expression);
  }
});

test("matchers and labels of groups are read", () => {
  const { selectors, labels } = readQuery(
    'sum by (job, x) (a{job="$job",y=~"b|c",z!="\\"d\\""}) * ignoring (w) b{}',
  );
  assert.deepEqual(selectors, [
    {
      metric: "a",
      matchers: [
        { label: "job", operator: "=", value: "$job" },
        { label: "y", operator: "=~", value: "b|c" },
        { label: "z", operator: "!=", value: '\\"d\\"' },
      ],
    },
    { metric: "b", matchers: [] },
  ]);
  assert.deepEqual(labels, ["job", "x", "w"]);
});

test("what cannot be read is refused", () => {
  for (const expression of ['{job="x"}', "a{x}", "a # b", "a{x=1}", 'a{x="1" y="2"}']) {
    assert.throws(() => readQuery(expression), Error, expression);
  }
});
