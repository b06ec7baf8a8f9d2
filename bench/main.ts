/** `make bench`: Larder beside public tools, on this machine, in one run. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { cacheFolder } from "../testbed/cache-folder.ts";
import { runCommand } from "../testbed/command.ts";
import { crane } from "../testbed/crane.ts";
import { startDockerRegistry } from "../testbed/docker-registry.ts";
import { interruption } from "../testbed/interruption.ts";
import { onEmptyDisk } from "./disk.ts";
import { firstRequest } from "./first-request.ts";
import { benchImage, imageNames, type BenchImage } from "./images.ts";
import { describeMachine } from "./machine.ts";
import { measure } from "./measure.ts";
import { report } from "./report.ts";
import { Results } from "./results.ts";
import { spreadOf } from "./statistics.ts";
import { tools, type RunContext } from "./tools.ts";

const root = join(import.meta.dirname, "..");
const startsMeasured = 11;
const interrupted = interruption();

interface Options {
  readonly runs: number;
  readonly only: readonly BenchImage["name"][];
}

function options(): Options {
  const { values } = parseArgs({
    options: { runs: { type: "string", default: "5" }, only: { type: "string", multiple: true } },
  });
  const runs = Number(values.runs);
  if (!Number.isSafeInteger(runs) || runs < 1) {
    throw new Error(`--runs: not a number of runs: ${values.runs}: give 1 or more`);
  }
  const unknown = values.only?.filter((name) => !imageNames.some((known) => known === name)) ?? [];
  if (unknown.length > 0) {
    throw new Error(`--only: no such image: ${unknown.join()}: there are ${imageNames.join(", ")}`);
  }
  return { runs, only: imageNames.filter((name) => values.only?.includes(name) ?? true) };
}

async function main({ runs, only }: Options): Promise<void> {
  await mkdir(cacheFolder(), { recursive: true });
  const home = await mkdtemp(join(cacheFolder(), "bench-run-"));
  const registry = await startDockerRegistry();
  try {
    // The bundle, with the flags that Larder always runs with.
    process.env["LARDER_MAIN"] = join(root, "dist", "larder.mjs");
    const programs = { larder: join(root, "bin", "larder"), crane: await crane() };
    const results = new Results();
    for (const name of only) {
      say(`building and pushing: ${name}`);
      const image = await benchImage(name);
      await push(image, registry.host);
      await runAll({ image, registry: registry.host, programs }, home, runs, results);
    }
    results.firstRequest = await starts(programs, home);
    const machine = await describeMachine(process.execPath, programs.crane, home);
    const page = report(results, machine, runs);
    const file = await keep(page);
    process.stdout.write(`${page}\n`);
    say(`kept in ${file}`);
  } finally {
    await registry.stop();
    await rm(home, { recursive: true, force: true });
  }
}

/** A B C D, A B C D, ...: what changes on the machine meanwhile hits all tools alike. */
async function runAll(
  context: Omit<RunContext, "dir">,
  home: string,
  runs: number,
  results: Results,
): Promise<void> {
  const { image } = context;
  for (let run = 1; run <= runs; run++) {
    for (const tool of tools) {
      interrupted.throwIfAborted();
      if (results.failure(image.name, tool.name) !== undefined) continue;
      try {
        const taken = await onEmptyDisk(home, image.freshDisk, (dir) =>
          measure(tool.script({ ...context, dir }), dir, home),
        );
        results.add(image, tool.name, taken);
        say(`${image.name}, run ${run} of ${runs}, ${tool.name}: ${taken.seconds.toFixed(2)} s`);
      } catch (error) {
        interrupted.throwIfAborted();
        const why = error instanceof Error ? error.message : String(error);
        results.fail(image, tool.name, why);
        say(`${image.name}, ${tool.name} failed: ${why}`);
        // Others may be unable to do an image; Larder may not.
        if (tool.name === "larder") process.exitCode = 1;
      }
    }
  }
}

async function push(image: BenchImage, registry: string): Promise<void> {
  const [from, to] = [`oci:${image.layout}:bench`, `docker://${registry}/bench/${image.name}:1`];
  const copy = ["copy", "--quiet", "--dest-tls-verify=false", "--preserve-digests"];
  await runCommand("skopeo", [...copy, from, to]);
}

async function starts(
  programs: RunContext["programs"],
  home: string,
): Promise<Results["firstRequest"]> {
  const taken: number[] = [];
  for (let start = 0; start < startsMeasured; start++) {
    taken.push(await onEmptyDisk(home, false, (dir) => firstRequest(programs.larder, dir)));
  }
  return spreadOf(taken);
}

async function keep(page: string): Promise<string> {
  const folder = join(root, "bench", "results");
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${new Date().toISOString().replaceAll(":", "-")}.md`);
  await writeFile(file, page);
  return file;
}

function say(line: string): void {
  process.stderr.write(`bench: ${line}\n`);
}

await main(options());
