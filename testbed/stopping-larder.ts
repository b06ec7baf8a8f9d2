/** Runs the real command with a stop at its n-th change of the disk. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const preload = new URL("./stop-at.ts", import.meta.url).href;
const main = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));

export interface StopPoint {
  /** Which change of the disk it stops at, counted from 1; 0: none. */
  readonly at: number;
  /** Default SIGKILL. */
  readonly by?: NodeJS.Signals;
}

export interface StoppedRun {
  /** Exit code, or the name of the signal that ended it. */
  readonly end: number | string;
  readonly stderr: string;
  readonly seconds: number;
}

/** Runs `larder` to its end, wherever that is. */
export async function larderStopping(
  args: readonly string[],
  stop: StopPoint,
  env: Readonly<Record<string, string>> = {},
): Promise<StoppedRun> {
  const began = performance.now();
  const child = spawn(process.execPath, ["--import", preload, main, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
    env: {
      ...process.env,
      LARDER_TEST_STOP_AT: String(stop.at),
      LARDER_TEST_STOP_BY: stop.by ?? "SIGKILL",
      ...env,
    },
  });
  const ended = new Promise<number | string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal ?? "nothing"));
  });
  const [end, stderr] = await Promise.all([ended, text(child.stderr)]);
  return { end, stderr, seconds: (performance.now() - began) / 1000 };
}

/** How many changes of the disk a whole run makes. */
export async function countSteps(args: readonly string[]): Promise<number> {
  const dir = await mkdtemp(join(tmpdir(), "larder-steps-"));
  try {
    const report = join(dir, "steps");
    const run = await larderStopping(args, { at: 0 }, { LARDER_TEST_STEPS: report });
    if (run.end !== 0)
      throw new Error(`larder ${args.join(" ")} ended with ${run.end}: ${run.stderr}`);
    return Number(await readFile(report, "utf8"));
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** `count` points spread evenly over `steps`; all of them when there are not that many. */
export function spread(steps: number, count: number): number[] {
  const points = new Set<number>();
  for (let n = 0; n < count; n++) points.add(1 + Math.floor((n * steps) / count));
  return [...points];
}
