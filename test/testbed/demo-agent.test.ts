/** What `make demo-agent` promises: it shows what it says, and leaves nothing. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { test, type TestContext } from "node:test";

import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";

const script = new URL("../../testbed/demo-agent.ts", import.meta.url).pathname;

interface Run {
  readonly temporary: string;
  readonly output: string;
  readonly code: number | null;
}

/** Runs the demo, piped, until it ends; `interruptAt`: what it prints when SIGINT comes. */
async function runDemo(t: TestContext, interruptAt?: string): Promise<Run> {
  const temporary = await tempDirectory(t);
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let interrupted = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (interruptAt === undefined || interrupted || !output.includes(interruptAt)) return;
      interrupted = true;
      child.kill("SIGINT");
    });
  }
  await once(child, "close");
  return { temporary, output, code: child.exitCode };
}

/** Command lines of processes that name a folder. */
function processesOf(folder: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(commandLine)
    .filter((line) => line.includes(folder));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    // It ended meanwhile.
    return "";
  }
}

async function leavesNothing({ temporary }: Run): Promise<void> {
  await until("its processes are gone", () => processesOf(temporary).length === 0);
  assert.deepEqual(await readdir(temporary), []);
}

/** The labels of both caches at each change of the node, in the order in which kubectl showed them. */
function labelsShown(output: string): string[] {
  return [...output.matchAll(/^edge-1 .*$/gm)].map(([row]) => {
    // Before them: name, status, roles, age. The version is empty.
    return row.trim().split(/ +/).slice(4).join(" ");
  });
}

test("the agent's demo shows each change of the labels, what is on the disk, and an agent that ends well", async (t) => {
  const run = await runDemo(t);
  assert.equal(run.code, 0, run.output);
  const stages = run.output.split(/^# /m);
  const stage = (title: string) => stages.find((text) => text.startsWith(title)) ?? "";
  const both = "boot-1/pause.tar\t1110016 bytes\nboot-1/registry.tar\t";
  assert.deepEqual(labelsShown(stage("Declare a cache")), ["pending", "synced"]);
  assert.deepEqual(labelsShown(stage("Delete a tarball")), ["pending", "synced"]);
  assert.match(stage("Delete a tarball"), /^boot-1\/pause\.tar\t1110016 bytes$/m);
  assert.deepEqual(labelsShown(stage("Edit the source")), ["pending", "synced"]);
  assert.ok(stage("Edit the source").includes(both), run.output);
  assert.deepEqual(labelsShown(stage("A second version")), ["synced pending", "synced synced"]);
  assert.match(stage("A second version"), /Normal +Synced +ImageCache\/boot-1/);
  assert.deepEqual(labelsShown(stage("Remove the first")), ["synced"]);
  assert.match(stage("Remove the first"), /sort\nboot-2\/registry\.tar\t\d+ bytes\n\s*$/);
  assert.match(stage("It ends"), /^\(exit 0\)$/m);
  await leavesNothing(run);
});

test("a demo that is interrupted takes with it all that it started", async (t) => {
  const run = await runDemo(t, "# Delete a tarball");
  assert.notEqual(run.code, 0);
  assert.match(run.output, /stopped by SIGINT/);
  assert.doesNotMatch(run.output, /Remove the first/);
  await leavesNothing(run);
});
