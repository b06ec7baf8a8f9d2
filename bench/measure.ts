import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface Measurement {
  readonly seconds: number;
  /** User and system time of the command and everything it started. */
  readonly cpuSeconds: number;
  /** Of the largest process among them, in bytes. */
  readonly peakBytes: number;
}

/**
 * Runs a bash script under GNU time, in `dir`.
 * @param home where the script and what it says are kept, apart from what it makes
 */
export async function measure(script: string, dir: string, home: string): Promise<Measurement> {
  const [file, times] = [join(home, "script.sh"), join(home, "times")];
  await writeFile(file, `set -euo pipefail\n${script}\n`);
  const began = process.hrtime.bigint();
  await run("/usr/bin/time", ["-f", "%U %S %M", "-o", times, "bash", file], dir);
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  const [user, system, kilobytes] = (await readFile(times, "utf8")).trim().split(" ").map(Number);
  if (user === undefined || system === undefined || kilobytes === undefined) {
    throw new Error(`GNU time said nothing of use in ${times}`);
  }
  return { seconds, cpuSeconds: user + system, peakBytes: kilobytes * 1024 };
}

async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(said.trim() || `ended with ${code}`);
}
