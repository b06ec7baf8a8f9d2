import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { arch } from "node:os";
import { join } from "node:path";

import { cached } from "./cache-folder.ts";
import { runCommand } from "./command.ts";
import { goCommand } from "./go.ts";

export interface GoGroup {
  /**
   * The folder under `testbed/` that holds the module: `go.mod`, `go.sum` and either `tools.go`,
   * which imports the commands, or `main.go`, which is one.
   */
  readonly name: string;
  /** For `-ldflags`, beside `-s -w`: `-X main.version=1`. */
  readonly ldflags?: string;
}

/**
 * Builds every command of the group, once for each content of its folder.
 * @returns the folder with the programs, each under the last part of its import path
 */
export async function buildGoTools(group: GoGroup): Promise<string> {
  const source = join(import.meta.dirname, group.name);
  const hash = await hashOf(source, group.ldflags ?? "");
  return cached(`go-tools/${group.name}-${arch()}-${hash}`, async (dir) => {
    const go = await goCommand();
    const commands = await commandsOf(source);
    const ldflags = ["-s", "-w", group.ldflags].filter(Boolean).join(" ");
    await runCommand(
      go,
      ["build", "-trimpath", "-mod=readonly", "-ldflags", ldflags, "-o", `${dir}/`, ...commands],
      { cwd: source, env: { CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off" } },
    );
  });
}

async function commandsOf(source: string): Promise<string[]> {
  if ((await readdir(source)).includes("main.go")) return ["."];
  return importsOf(await readFile(join(source, "tools.go"), "utf8"));
}

/** The import paths in a Go file, which are the commands to build. */
export function importsOf(source: string): string[] {
  return [...source.matchAll(/^\s*(?:import\s+)?_\s+"([^"]+)"/gm)].flatMap(([, path]) =>
    path === undefined ? [] : [path],
  );
}

async function hashOf(folder: string, ldflags: string): Promise<string> {
  const hash = createHash("sha256").update(ldflags);
  for (const name of (await readdir(folder)).sort()) {
    hash.update(`\0${name}\0`).update(await readFile(join(folder, name)));
  }
  return hash.digest("hex").slice(0, 16);
}
