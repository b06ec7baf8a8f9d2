import { createHash } from "node:crypto";
import { copyFile, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { cached } from "./cache-folder.ts";
import { runCommand } from "./command.ts";
import { buildGoTools } from "./go-tools.ts";
import { goCommand } from "./go.ts";

const module = { name: "sigs.k8s.io/kwok", folder: join(import.meta.dirname, "kwok") };

/** Below the module's `kustomize/stage`: nodes become and stay Ready, pods run and go. */
const stages = ["node/fast", "node/heartbeat-with-lease", "pod/fast"];

/** The path of `kwok`, which plays the kubelets of nodes that do not exist; built on first use. */
export async function kwok(): Promise<string> {
  return join(await buildGoTools({ name: "kwok" }), "kwok");
}

/** The paths of the stage files without which kwok does nothing, taken from its own module. */
export async function kwokStages(): Promise<string[]> {
  const pinned = await readFile(join(module.folder, "go.mod"));
  const hash = createHash("sha256").update(pinned).digest("hex").slice(0, 16);
  const folder = await cached(`kwok-stages-${hash}`, copyStages);
  return (await readdir(folder)).sort().map((name) => join(folder, name));
}

async function copyStages(target: string): Promise<void> {
  const source = await moduleFolder();
  for (const stage of stages) {
    const from = join(source, "kustomize", "stage", stage);
    const names = (await readdir(from)).filter((name) => name.endsWith(".yaml"));
    for (const name of names.filter((each) => each !== "kustomization.yaml")) {
      await copyFile(join(from, name), join(target, name));
    }
  }
}

/** Fetched where Go's cache does not have it any more. */
async function moduleFolder(): Promise<string> {
  const { stdout } = await runCommand(
    await goCommand(),
    ["mod", "download", "-json", module.name],
    {
      cwd: module.folder,
      env: { GOFLAGS: "", GOWORK: "off" },
    },
  );
  const { Dir: folder } = JSON.parse(stdout) as { readonly Dir?: string };
  if (folder === undefined) throw new Error(`go mod download does not say where ${module.name} is`);
  return folder;
}
