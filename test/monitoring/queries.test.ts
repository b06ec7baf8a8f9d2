/** Whatever alerts and dashboard ask for, agents have. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { stringify } from "yaml";

import { runCommand } from "../../testbed/command.ts";
import { promtool } from "../../testbed/promtool.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { knownNames } from "./known.ts";
import { readQuery } from "./promql.ts";
import { alertQueries, alerts, dashboard, dashboardQueries, folder, rulesFile } from "./queries.ts";

const known = knownNames();

/** What an expression asks for and no agent has. */
function unknownIn(expression: string): string[] {
  const { selectors, labels } = readQuery(expression);
  const allLabels = selectors.flatMap(({ metric }) => Object.keys(known.get(metric) ?? {}));
  return [
    ...selectors.filter(({ metric }) => !known.has(metric)).map(({ metric }) => metric),
    ...labels.filter((label) => !allLabels.includes(label)),
    ...selectors.flatMap(({ metric, matchers }) => {
      const labelsOf = known.get(metric) ?? {};
      return matchers
        .filter(({ label, operator, value }) => {
          const values = labelsOf[label];
          if (values === undefined) return true;
          return (
            operator !== "=~" && values !== "any" && !values.includes(value) && value !== "any"
          );
        })
        .map(({ label, value }) => `${metric}{${label}="${value}"}`);
    }),
  ];
}

test("every query of the alerts names metrics, labels and values that there are", async () => {
  const queries = await alertQueries();
  // Each alert's own, and the one in its description that lists the nodes.
  assert.ok(queries.length >= 16, `${queries.length} queries`);
  for (const { where, expression } of queries) {
    assert.deepEqual(unknownIn(expression), [], `${where}: ${expression}`);
  }
});

test("every query of the dashboard names metrics, labels and values that there are", async () => {
  const queries = await dashboardQueries();
  assert.ok(queries.length > 25, `${queries.length} queries`);
  for (const { where, expression } of queries) {
    assert.deepEqual(unknownIn(expression), [], `${where}: ${expression}`);
  }
});

test("the check of queries finds metrics, labels and values that nobody has", () => {
  assert.deepEqual(unknownIn('sum by (nobody) (larder_none{job="x"})'), [
    "larder_none",
    "nobody",
    'larder_none{job="x"}',
  ]);
  assert.deepEqual(unknownIn('larder_passes_total{result="ok"}'), [
    'larder_passes_total{result="ok"}',
  ]);
  assert.deepEqual(unknownIn("larder_pull_duration_seconds"), ["larder_pull_duration_seconds"]);
});

test("every metric of Larder's own is on the dashboard", async () => {
  const queries = await dashboardQueries();
  const shown = queries.flatMap(({ expression }) =>
    readQuery(expression).selectors.map(({ metric }) => metric),
  );
  const missing = [...known.keys()].filter((name) => !shown.includes(name));
  assert.deepEqual(missing, [
    "up",
    "larder_pull_duration_seconds_sum",
    "larder_pull_duration_seconds_count",
    "process_start_time_seconds",
  ]);
});

test("Prometheus takes every query of the dashboard", async (context) => {
  const queries = await dashboardQueries();
  const file = join(await tempDirectory(context), "dashboard.rules.yaml");
  const rules = queries.map(({ expression }, index) => ({
    record: `q:${index}`,
    expr: expression,
  }));
  await writeFile(file, stringify({ groups: [{ name: "dashboard", rules }] }));
  await runCommand(await promtool(), ["check", "rules", "--lint-fatal", file]);
});

test("Prometheus takes the alert rules", async () => {
  await runCommand(await promtool(), ["check", "rules", "--lint=all", "--lint-fatal", rulesFile]);
});

test("the alerts fire when they should, and only then", async () => {
  const tests = join(folder, "larder-agent.test.yaml");
  await runCommand(await promtool(), ["test", "rules", tests], { cwd: folder });
});

test("every alert says in one line what is wrong, and then what to do", async () => {
  for (const { alert, labels, annotations } of await alerts()) {
    assert.match(alert, /^Larder[A-Z]/);
    assert.ok(["warning", "critical"].includes(labels["severity"] ?? ""), alert);
    assert.deepEqual(Object.keys(annotations), ["summary", "description"], alert);
    assert.match(annotations["summary"] ?? "", /^[^\n]{20,120}$/, alert);
    assert.match(annotations["description"] ?? "", /^.{100,}\.$/, alert);
  }
});

test("the panels of the dashboard have numbers of their own and lie side by side", async () => {
  const { panels } = await dashboard();
  const ids = panels.map(({ id }) => id);
  assert.deepEqual(ids, [...new Set(ids)]);
  const cells = panels.flatMap(({ title, gridPos: { x, y, w, h } }) => {
    assert.ok(x + w <= 24, title);
    return Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`);
  });
  assert.equal(cells.length, new Set(cells).size);
});
