import { goals } from "./goals.ts";
import type { BenchImage } from "./images.ts";
import type { Results } from "./results.ts";
import type { Spread } from "./statistics.ts";
import { tools } from "./tools.ts";

const MiB = 1024 * 1024;

/** The whole run as one Markdown page. */
export function report(results: Results, machine: readonly string[], runs: number): string {
  return [
    "# Benchmark",
    "",
    `${runs} runs of each, interleaved; median (smallest to largest). Wall time ends when the command`,
    "does; `larder` and the floor flush what they wrote before that, `crane` and `skopeo` do not, but",
    "for `sync -f` where it is said. Peak RSS is that of the largest process of a pipeline.",
    "",
    ...machine.map((line) => `- ${line}`),
    "",
    ...results.images().flatMap((image) => imageTable(results, image)),
    ...firstRequestLine(results.firstRequest),
    "## Goals",
    "",
    "| goal | wanted | measured | |",
    "| --- | --- | --- | --- |",
    ...goals(results).map(
      ({ what, wanted, measured, met }) =>
        `| ${what} | ${wanted} | ${measured} | ${met ? "met" : "**missed**"} |`,
    ),
    "",
  ].join("\n");
}

function imageTable(results: Results, image: BenchImage["name"]): string[] {
  const ours = results.of(image, "larder")?.seconds.median;
  const rows = tools.map(({ name, title }) => {
    const found = results.of(image, name);
    if (found === undefined) {
      const why = results.failure(image, name);
      return `| ${title} | ${why === undefined ? "not measured" : cell(why)} | | | | |`;
    }
    const { seconds, cpuSeconds, peakBytes, cpuPerGB } = found;
    const ratio = ours === undefined ? "" : (seconds.median / ours).toFixed(2);
    return `| ${title} | ${spread(seconds, 2)} | ${ratio} | ${spread(cpuSeconds, 2)} | ${cpuPerGB.toFixed(2)} | ${(peakBytes.max / MiB).toFixed(0)} |`;
  });
  return [
    `## ${results.titleOf(image)}`,
    "",
    `Compression ${results.compressionOf(image).toFixed(2)}:1.`,
    "",
    "| | wall s | times larder's | CPU s | CPU s per GB | peak RSS MiB |",
    "| --- | --- | --- | --- | --- | --- |",
    ...rows,
    "",
  ];
}

function firstRequestLine(measured: Spread | undefined): string[] {
  if (measured === undefined) return [];
  const { median, min, max } = measured;
  const ms = (seconds: number): string => (seconds * 1000).toFixed(0);
  return [
    `Start of the bundle to its first request: ${ms(median)} ms (${ms(min)} to ${ms(max)}).`,
    "",
  ];
}

function spread({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`;
}

/** The end of the last line, which has the cause, and no pipe that would end the cell. */
function cell(text: string): string {
  const line = text.trim().split("\n").at(-1) ?? "";
  return `failed: ${line.slice(-100).replaceAll("|", "\\|")}`;
}
