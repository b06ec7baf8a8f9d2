import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";

import { runCommand } from "../testbed/command.ts";

/** The machine and the tools in a few lines, for whoever reads the numbers elsewhere. */
export async function describeMachine(node: string, crane: string, dir: string): Promise<string[]> {
  const cores = cpus();
  return [
    `${cores.length} cores of ${cores[0]?.model.trim() ?? "an unknown kind"}, ${gib(totalmem())} GiB of memory, Linux ${release()}`,
    `Debian ${await first("cat", "/etc/debian_version")}; Node ${await first(node, "--version")}`,
    `crane ${await first("sh", "-c", `'${crane}' version`)}; ${await first("skopeo", "--version")}; ${await first("umoci", "--version")}`,
    `docker-registry ${await debian("docker-registry")}, gzip ${await debian("gzip")}, zstd ${await debian("zstd")}, tar ${await debian("tar")}`,
    `writing 600 MiB and flushing them takes ${await diskSeconds(dir)} s by \`dd\`, the best of three`,
  ];
}

/** What no tool that flushes can be faster than, by much: the disk alone. */
async function diskSeconds(dir: string): Promise<string> {
  const taken: number[] = [];
  for (let run = 0; run < 3; run++) {
    await runCommand("sync", []);
    const began = performance.now();
    const output = `of=${join(dir, "disk-speed")}`;
    await runCommand("dd", ["if=/dev/zero", output, "bs=1M", "count=600", "conv=fsync"]);
    taken.push((performance.now() - began) / 1000);
  }
  return Math.min(...taken).toFixed(2);
}

async function debian(name: string): Promise<string> {
  return first("dpkg-query", "--show", "--showformat", "${Version}", name);
}

async function first(program: string, ...args: string[]): Promise<string> {
  const { stdout } = await runCommand(program, args);
  return stdout.trim().split("\n")[0] || "unknown";
}

function gib(bytes: number): string {
  return (bytes / 1024 ** 3).toFixed(0);
}
