/** `make demo-agent`: what the agent does for a node, typed as a person would type it. */
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { machinePlatform } from "../src/registry/platform.ts";
import { startControlPlane, type ControlPlane } from "./control-plane.ts";
import { startDockerRegistry, type DockerRegistry } from "./docker-registry.ts";
import { pushImage } from "./image-builder.ts";
import { interruption } from "./interruption.ts";
import { kubernetesPrograms } from "./kubernetes.ts";
import { cacheImage, pauseImage, registryImage } from "./real-images.ts";
import { say, Typist, type Started } from "./typing.ts";

const interrupted = interruption();
const deploy = join(import.meta.dirname, "..", "deploy");
const node = "edge-1";
const prefix = "image-cache.scality.com";
const account = { namespace: "larder-system", name: "image-cache-agent", podNode: node };

interface Stage {
  readonly home: string;
  readonly cache: string;
  readonly plane: ControlPlane;
  readonly registry: DockerRegistry;
  readonly typist: Typist;
}

async function demo(stage: Stage): Promise<void> {
  await fillRegistry(stage);
  const { home, plane, typist } = stage;
  say("The CRD, and what the agent may do; pods do not run here: there is no kubelet");
  await typist.type(`kubectl apply --server-side -f ${join(deploy, "crds")}`);
  await typist.type(`kubectl apply --server-side -k ${join(deploy, "agent")}`);
  await typist.type("kubectl wait --for=condition=Established crd --all --timeout=30s");
  await plane.ask("/api/v1/nodes", {
    method: "POST",
    body: { apiVersion: "v1", kind: "Node", metadata: { name: node } },
  });

  say("The agent, by the service account's token that its pod on this node would have");
  await copyFile(await plane.serviceAccountKubeconfig(account), join(home, "agent.kubeconfig"));
  await writeFile(join(home, "agent.log"), "");
  await using agent = typist.start(commandOf(stage));
  const log = async () => readFile(join(home, "agent.log"), "utf8");
  await agent.while("the agent runs", async () => (await log()).includes('"the agent runs"'));
  await life(stage, agent);

  say("What the agent logged");
  await typist.type(`sed 's/.*"message":"\\([^"]*\\)".*/\\1/' agent.log`);
  say("It ends when it is told to; the caches stay");
  await typist.type(`kill -TERM ${agent.pid}`);
  process.stdout.write(`(exit ${await agent.end()})\n`);
}

function commandOf({ cache, registry }: Stage): string {
  return [
    `NODE_NAME=${node} larder agent --kubeconfig=agent.kubeconfig --cache-path='${cache}'`,
    `--insecure-registry=${registry.host} --health-addr=127.0.0.1:0 --gc-delay=2s --min-free=0`,
    ">agent.log",
  ].join(" ");
}

async function fillRegistry({ registry }: Stage): Promise<void> {
  const platform = machinePlatform();
  say("Cache images from Debian packages: with a pause image, with the registry itself, with both");
  const [pause, itself] = [await pauseImage(platform), await registryImage(platform)];
  const images = {
    "1.0": cacheImage({ pause }, platform),
    "1.1": cacheImage({ pause, registry: itself }, platform),
    "2.0": cacheImage({ registry: itself }, platform),
  };
  for (const [tag, image] of Object.entries(images)) {
    await pushImage(registry.url, "boot", tag, image);
    process.stdout.write(`pushed ${registry.host}/boot:${tag}\n`);
  }
}

/** What a person sees of an ImageCache, from its first day to its last. */
async function life(stage: Stage, agent: Started): Promise<void> {
  const { home, cache, plane, registry, typist } = stage;
  const tree = `find '${cache}' -name '*.tar' -printf '%P\\t%s bytes\\n' | sort`;
  say("Whoever waits for a cache watches the node's labels; their changes show up from here on");
  await using labels = typist.start(
    `kubectl get node ${node} --watch -L ${prefix}/boot-1,${prefix}/boot-2`,
  );
  await labels.prints("the node", /^edge-1 .*\n/m);
  /** The labels of both, from left to right, as a row shows them when it changes. */
  const become = async (...states: string[]) =>
    labels.prints(
      `labels ${states.join(", ")}`,
      new RegExp(`^edge-1 .*[sm] +${states.join(" +")} *\\n`, "m"),
    );

  say("Declare a cache: the node says pending, then synced");
  await declare(home, "boot-1", `${registry.host}/boot:1.0`, cache);
  await typist.type("cat boot-1.yaml && kubectl apply -f boot-1.yaml");
  await become("pending");
  await become("synced");
  await typist.type(`kubectl get imagecaches && ${tree}`);

  say("Delete a tarball: it comes back");
  await typist.type(`rm '${cache}/boot-1/pause.tar'`);
  await become("pending");
  await become("synced");
  await typist.type(tree);

  say("Edit the source: the old content stays until the new is in place");
  const patch = JSON.stringify({ spec: { source: `${registry.host}/boot:1.1` } });
  await typist.type(`kubectl patch imagecache boot-1 --type merge -p '${patch}'`);
  await become("pending");
  await become("synced");
  await typist.type(tree);

  say("A second version beside the first, as in an upgrade");
  await declare(home, "boot-2", `${registry.host}/boot:2.0`, cache);
  await typist.type("kubectl apply -f boot-2.yaml");
  await become("synced", "pending");
  await become("synced", "synced");
  await typist.type(tree);
  await agent.while("the events are written", async () => (await eventsOn(plane, "boot-1")) >= 2);
  await typist.type("kubectl events -n default --for imagecache/boot-1");

  say("Remove the first: its label goes at once, its directory after --gc-delay");
  await typist.type("kubectl delete imagecache boot-1");
  await become("synced");
  await typist.type(tree);
  await agent.while("the directory is collected", () => !existsSync(join(cache, "boot-1")));
  await typist.type(tree);
}

/** How many there are by now: the agent writes them beside its work. */
async function eventsOn(plane: ControlPlane, name: string): Promise<number> {
  const events = await plane.kubectl("get", "events", "-n", "default", "-o", "name");
  return events.split("\n").filter((line) => line.includes(`/${name}.`)).length;
}

async function declare(home: string, name: string, source: string, cache: string): Promise<void> {
  const lines = [
    "apiVersion: image-cache.scality.com/v1alpha1",
    "kind: ImageCache",
    `metadata: {name: ${name}}`,
    "spec:",
    `  source: ${source}`,
    `  cachePath: ${cache}`,
  ];
  await writeFile(join(home, `${name}.yaml`), `${lines.join("\n")}\n`);
}

const began = performance.now();
const home = await mkdtemp(join(tmpdir(), "larder-demo-"));
try {
  await using plane = await startControlPlane();
  const registry = await startDockerRegistry();
  try {
    const cache = join(home, "image-cache");
    await mkdir(cache);
    await chmod(cache, 0o755);
    const typist = new Typist({
      cwd: home,
      signal: interrupted,
      env: { KUBECONFIG: plane.adminKubeconfig },
      path: [dirname((await kubernetesPrograms()).kubectl)],
    });
    await demo({ home, cache, plane, registry, typist });
  } finally {
    await registry.stop();
  }
} finally {
  await rm(home, { recursive: true, force: true });
}
say(`Cleaned up; ${((performance.now() - began) / 1000).toFixed(1)} s in all`);
