import type { BenchImage } from "./images.ts";
import type { Results } from "./results.ts";

export interface Goal {
  readonly what: string;
  readonly wanted: string;
  readonly measured: string;
  readonly met: boolean;
}

const MiB = 1024 * 1024;

/** What the project set out to reach, and whether this run did. What was not measured is left out. */
export function goals(results: Results): Goal[] {
  return [
    ...faster(results, "real", "crane", 2.2),
    ...faster(results, "gzip", "crane", 1.6),
    ...faster(results, "zstd", "crane", 1.4),
    ...faster(results, "many", "skopeo", 1),
    ...memory(results),
    ...cpu(results, "real"),
    ...cpu(results, "gzip"),
    ...start(results),
  ];
}

function faster(
  results: Results,
  image: BenchImage["name"],
  other: "crane" | "skopeo",
  wanted: number,
): Goal[] {
  const [ours, theirs] = [results.of(image, "larder"), results.of(image, other)];
  if (ours === undefined || theirs === undefined) return [];
  const ratio = theirs.seconds.median / ours.seconds.median;
  return [
    {
      what: `${results.titleOf(image)}: speed against ${other}`,
      wanted: `at least ${wanted.toFixed(1)} times`,
      measured: `${ratio.toFixed(2)} times`,
      met: ratio >= wanted,
    },
  ];
}

function memory(results: Results): Goal[] {
  const peaks = results.images().flatMap((image) => {
    const peak = results.of(image, "larder")?.peakBytes.max;
    return peak === undefined ? [] : [peak];
  });
  if (peaks.length === 0) return [];
  const peak = Math.max(...peaks);
  return [
    {
      what: "peak RSS over all images and runs",
      wanted: "under 128 MiB",
      measured: `${(peak / MiB).toFixed(0)} MiB`,
      met: peak < 128 * MiB,
    },
  ];
}

function cpu(results: Results, image: BenchImage["name"]): Goal[] {
  const [ours, theirs] = [results.of(image, "larder"), results.of(image, "crane")];
  if (ours === undefined || theirs === undefined) return [];
  return [
    {
      what: `${results.titleOf(image)}: CPU seconds per GB written`,
      wanted: `at most crane's ${theirs.cpuPerGB.toFixed(2)}`,
      measured: ours.cpuPerGB.toFixed(2),
      met: ours.cpuPerGB <= theirs.cpuPerGB,
    },
  ];
}

function start({ firstRequest }: Results): Goal[] {
  if (firstRequest === undefined) return [];
  const { median } = firstRequest;
  return [
    {
      what: "start to first request, from the bundle",
      wanted: "under 150 ms",
      measured: `${(median * 1000).toFixed(0)} ms`,
      met: median < 0.15,
    },
  ];
}
