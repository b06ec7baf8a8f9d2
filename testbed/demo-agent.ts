/** `make demo-agent`: what the agent does for a node, typed as a person would type it. */
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { machinePlatform } from "../src/registry/platform.ts";
import { AgentProcess } from "./agent-process.ts";
import { startControlPlane, type ControlPlane } from "./control-plane.ts";
import { startDockerRegistry, type DockerRegistry } from "./docker-registry.ts";
import { pushImage } from "./image-builder.ts";
import { interruption } from "./interruption.ts";
import { kubernetesPrograms } from "./kubernetes.ts";
import { cacheImage, pauseImage, registryImage } from "./real-images.ts";
import { say, Typist } from "./typing.ts";
import { until } from "./until.ts";

const interrupted = interruption();
const deploy = join(import.meta.dirname, "..", "deploy");
const node = "edge-1";
const label = "image-cache.scality.com/boot-1";
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
  const { cache, plane, registry, typist } = stage;
  say("The CRD, and what the agent may do; pods do not run here: there is no kubelet");
  await typist.type(`kubectl apply -f ${join(deploy, "crds")}`);
  await typist.type(`kubectl apply -k ${join(deploy, "agent")}`);
  await typist.type("kubectl wait --for=condition=Established crd --all --timeout=30s");
  await plane.ask("/api/v1/nodes", {
    method: "POST",
    body: { apiVersion: "v1", kind: "Node", metadata: { name: node } },
  });

  say("The agent, with the service account that its pod on this node would have");
  const args = [
    `--cache-path=${cache}`,
    `--insecure-registry=${registry.host}`,
    "--gc-delay=2s",
    "--min-free=0",
  ];
  process.stdout.write(`$ NODE_NAME=${node} larder agent ${args.join(" ")} &\n`);
  const kubeconfig = await plane.serviceAccountKubeconfig(account);
  await using agent = AgentProcess.start({ nodeName: node, kubeconfig, args });
  await agent.says("the agent runs");
  await life(stage, agent);
  say("The agent ends when it is told to");
  await typist.type(`kill -TERM ${agent.pid}`);
  process.stdout.write(`(exit ${await agent.end()})\n`);
}

async function fillRegistry({ registry }: Stage): Promise<void> {
  const platform = machinePlatform();
  say(
    "Two cache images from Debian packages: with a pause image, and with the registry itself too",
  );
  const [pause, itself] = [await pauseImage(platform), await registryImage(platform)];
  await pushImage(registry.url, "boot", "1", cacheImage({ pause }, platform));
  await pushImage(registry.url, "boot", "2", cacheImage({ pause, registry: itself }, platform));
  process.stdout.write(`pushed ${registry.host}/boot:1 and :2\n`);
}

/** What a person sees of an ImageCache, from its first day to its last. */
async function life({ home, cache, registry, typist }: Stage, agent: AgentProcess): Promise<void> {
  const tree = `find '${cache}' -name '*.tar' -printf '%P\\t%s bytes\\n' | sort`;
  const synced = `kubectl wait node/${node} --for=jsonpath='{.metadata.labels.${label.replaceAll(".", "\\.")}}'=synced --timeout=30s`;

  say("Declare a cache: the node says pending, then synced");
  await declare(home, "boot-1", `${registry.host}/boot:1`, cache);
  await typist.type("cat boot-1.yaml && kubectl apply -f boot-1.yaml");
  await typist.type(synced);
  await typist.type(`kubectl get imagecaches && kubectl get node ${node} -L ${label}`);
  await typist.type(tree);

  say("Delete a tarball: it comes back");
  await typist.type(`rm '${cache}/boot-1/pause.tar'`);
  await agent.says("an image cache is synced", 2);
  await typist.type(tree);

  say("Edit the source: the old content stays until the new is in place");
  const patch = JSON.stringify({ spec: { source: `${registry.host}/boot:2` } });
  await typist.type(`kubectl patch imagecache boot-1 --type merge -p '${patch}'`);
  await agent.says("an image cache is synced", 3);
  await typist.type(`${synced} && ${tree}`);

  say("A second version beside the first, as in an upgrade");
  await declare(home, "boot-2", `${registry.host}/boot:2`, cache);
  await typist.type("kubectl apply -f boot-2.yaml");
  await agent.says("an image cache is synced", 4);
  await typist.type(tree);
  await typist.type(
    `kubectl events -n default --for imagecache/boot-1 || kubectl events -n default`,
  );

  say("Remove the first: its label goes at once, its directory after --gc-delay");
  await typist.type("kubectl delete imagecache boot-1");
  await until("it is collected", () => agent.said("collected a directory").length > 0);
  await typist.type(`${tree} && kubectl get node ${node} --show-labels`);
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
