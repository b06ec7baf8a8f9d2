import { readdirSync } from "node:fs";

import type { Metrics } from "./metrics.ts";

/** What this process takes from its machine, under the names that all Prometheus clients use. */
export function addProcessMetrics(metrics: Metrics): void {
  const memory = metrics.gauge({
    name: "process_resident_memory_bytes",
    help: "Resident memory of this process",
  });
  const cpu = metrics.counter({
    name: "process_cpu_seconds_total",
    help: "User and system time that this process has used",
  });
  const start = metrics.gauge({
    name: "process_start_time_seconds",
    help: "When this process was started, in seconds since 1970",
  });
  const files = metrics.gauge({
    name: "process_open_fds",
    help: "File descriptors that this process has open",
  });
  start.set(performance.timeOrigin / 1000);
  let counted = 0;
  metrics.beforeReading(() => {
    memory.set(process.memoryUsage.rss());
    const { user, system } = process.cpuUsage();
    cpu.add((user + system - counted) / 1e6);
    counted = user + system;
    files.set(openFiles());
  });
}

/** Without the one by which they are counted. */
function openFiles(): number {
  return readdirSync("/proc/self/fd").length - 1;
}
