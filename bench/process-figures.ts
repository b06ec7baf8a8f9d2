import { readFile } from "node:fs/promises";

const MiB = 1024 * 1024;
/** Of the times in /proc/<pid>/stat, a second: fixed by the kernel's interface on every machine. */
const ticks = 100;

export interface Memory {
  /** Resident, in MiB; of that, what is no file's. */
  readonly rss: number;
  readonly anonymous: number;
  /** The most that was ever resident. */
  readonly peak: number;
}

/** What a process holds now. */
export async function memoryOf(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const figure = (name: string): number => {
    const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1];
    if (found === undefined) throw new Error(`/proc/${pid}/status has no ${name}`);
    return (Number(found) * 1024) / MiB;
  };
  return { rss: figure("VmRSS"), anonymous: figure("RssAnon"), peak: figure("VmHWM") };
}

/** Seconds of CPU that a process took so far, in user and kernel mode. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  // The name, in parentheses, may hold anything; what counts comes after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticks;
}
