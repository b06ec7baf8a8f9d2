import { readFileSync } from "node:fs";

/** Whether a process is there and is no zombie. */
export function isRunning(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`).length > 0;
  } catch {
    return false;
  }
}
