/** What an agent shows, in Prometheus' own eyes and in those of `docs/metrics.md`. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { AgentMetrics } from "../../src/agent/metrics.ts";
import { errorCodes, LarderError } from "../../src/errors.ts";
import { systemClock } from "../../src/registry/clock.ts";
import { startHealthServer } from "../../src/telemetry/health-server.ts";
import { parseListenAddress } from "../../src/telemetry/listen-address.ts";
import type { LabelSpec } from "../../src/telemetry/metric-spec.ts";
import { promtool } from "../../testbed/promtool.ts";
import { runCommand } from "../../testbed/command.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { root } from "../source-files.ts";
import { newAgent } from "./known.ts";
import { alerts } from "./queries.ts";

/** Names that a label value has to be escaped for. */
const awkward = ['quo"te', "back\\slash", "line\nfeed", "tail\\", "ünï {x} |,", 'all "\\\n'];

/** What a scrape of an agent gets. */
async function scrape(context: TestContext, agent: AgentMetrics): Promise<string> {
  const server = await startHealthServer({
    address: parseListenAddress("127.0.0.1:0"),
    healthy: () => undefined,
    ready: () => undefined,
    metrics: agent.metrics,
  });
  context.after(() => server.close());
  const response = await fetch(`${server.url}/metrics`);
  assert.equal(response.status, 200);
  return response.text();
}

/** As Prometheus reads them, complaints about names and units included. */
async function checkedByPrometheus(context: TestContext, text: string): Promise<void> {
  const file = join(await tempDirectory(context), "metrics");
  await writeFile(file, text);
  const { stdout, stderr } = await runCommand("sh", [
    "-c",
    '"$0" check metrics < "$1"',
    await promtool(),
    file,
  ]);
  assert.equal(`${stdout}${stderr}`, "");
}

test("an agent's metrics are what Prometheus wants, before anything happened", async (context) => {
  await checkedByPrometheus(context, await scrape(context, newAgent()));
});

test("an agent's metrics are what Prometheus wants, whatever resources and paths are called", async (context) => {
  const folder = await tempDirectory(context);
  const paths = awkward.map((name) => join(folder, name));
  for (const path of paths) await mkdir(path);
  const agent = new AgentMetrics({
    version: awkward[5] ?? "",
    node: awkward[0] ?? "",
    minFree: { bytes: 1000 },
    clock: systemClock,
  });
  agent.states(new Map(awkward.map((name) => [name, "pending"])));
  agent.cachePaths(paths);
  agent.contact(true);
  agent.received(12_345);
  await agent.pass(async () => ({ problems: [] }));
  const { signal } = new AbortController();
  await agent.pull(async () => {}, signal);
  const error = new LarderError("auth", { what: "a", why: "b", todo: "c" });
  await assert.rejects(agent.pull(() => Promise.reject(error), signal));
  const text = await scrape(context, agent);
  await checkedByPrometheus(context, text);
  for (const name of awkward) {
    const escaped = name.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
    assert.ok(
      text.includes(`larder_image_cache_state{name="${escaped}",state="pending"} 1\n`),
      name,
    );
    assert.match(
      text,
      new RegExp(
        `^larder_disk_free_bytes\\{path="${RegExp.escape(`${folder}/${escaped}`)}"\\} \\d+$`,
        "m",
      ),
    );
  }
});

test("an idle agent's scrape is small", async (context) => {
  const text = await scrape(context, newAgent());
  const series = text.split("\n").filter((line) => /^[^#]/.test(line));
  assert.ok(series.length <= 100, `${series.length} series`);
});

/** The rows of the tables below a heading of docs/metrics.md, each as its cells. */
async function rowsBelow(heading: string): Promise<string[][]> {
  const page = await readFile(join(root, "docs/metrics.md"), "utf8");
  const section = page.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("|"));
  return rows.slice(2).map((row) =>
    row
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

/** As docs/metrics.md writes them. */
function formatLabels(labels: LabelSpec): string {
  return Object.entries(labels)
    .map(([label, values]) => {
      if (values === "any") return `\`${label}\``;
      if (values === errorCodes) return `\`${label}\` = an error code`;
      return `\`${label}\` = ${values.map((value) => `\`${value}\``).join(" ")}`;
    })
    .join(", ");
}

test("docs/metrics.md has every metric with its type and labels, and no other", async () => {
  const rows = await rowsBelow("What there is");
  assert.deepEqual(
    rows.map(([name, type, labels]) => ({ name, type, labels })).sort(byName),
    newAgent()
      .metrics.descriptions.map(({ name, type, labels }) => ({
        name: `\`${name}\``,
        type,
        labels: formatLabels(labels),
      }))
      .sort(byName),
  );
  for (const [name = "", , , meaning = ""] of rows) assert.notEqual(meaning, "", name);
});

test("docs/metrics.md has every alert, and no other", async () => {
  const names = (await rowsBelow("Alerts")).map(([name]) => name);
  assert.deepEqual(
    names,
    (await alerts()).map(({ alert }) => `\`${alert}\``),
  );
});

function byName(a: { readonly name: string | undefined }, b: typeof a): number {
  return (a.name ?? "").localeCompare(b.name ?? "");
}
