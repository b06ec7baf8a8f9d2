import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { AgentProcess } from "../testbed/agent-process.ts";
import { runCommand } from "../testbed/command.ts";
import { startControlPlane, type ControlPlane } from "../testbed/control-plane.ts";
import { startDockerRegistry, type DockerRegistry } from "../testbed/docker-registry.ts";
import { buildImage, pushImage } from "../testbed/image-builder.ts";
import { until } from "../testbed/until.ts";
import { benchImage, type BenchImage } from "./images.ts";

const root = join(import.meta.dirname, "..");
const account = { namespace: "larder-system", name: "image-cache-agent" };
const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
/** What a pod has: its service account's folder, and the cache path as a mount of its own. */
const asInPod = `mount -t tmpfs none /run
mkdir -p ${accountFolder}
mount --bind "$1" ${accountFolder}
mount --bind "$2" "$2"
shift 2
exec "$@"`;
const caches = "/apis/image-cache.scality.com/v1alpha1/imagecaches";
const prefix = "image-cache.scality.com/";
/** How many requests for nodes are under way at a time. */
const atOnce = 32;

/** What an agent is to be tried with, besides what it always has. */
export interface Trial {
  /** Of Node's. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A cluster, a registry, and the bundle's agent on the one node that is real. */
export class AgentStage implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly registry: DockerRegistry;
  readonly node = "bench";
  readonly cache: string;
  /** The files of the agent's service account. */
  readonly #account: string;
  #nodes = 0;

  private constructor(plane: ControlPlane, registry: DockerRegistry, home: string) {
    this.plane = plane;
    this.registry = registry;
    this.cache = join(home, "cache");
    this.#account = join(home, "account");
  }

  static async start(home: string): Promise<AgentStage> {
    const [plane, registry] = await Promise.all([startControlPlane(), startDockerRegistry()]);
    const stage = new AgentStage(plane, registry, home);
    await mkdir(stage.cache);
    await mkdir(stage.#account);
    await plane.apply(join(root, "deploy", "crds"));
    await plane.kubectl("wait", "--for=condition=Established", "--timeout=20s", "crd", "--all");
    await plane.apply(join(root, "deploy", "agent"));
    await stage.#addNode(stage.node);
    await plane.writeServiceAccountFolder(stage.#account, { ...account, podNode: stage.node });
    const small = { entries: [{ path: "small.tar", content: "small" }] };
    await pushImage(registry.url, "small", "1", buildImage({ layers: [small] }));
    return stage;
  }

  get small(): string {
    return `${this.registry.host}/small:1`;
  }

  /** The agent as in a pod, with the flags that it always runs with. */
  agent(args: readonly string[] = [], { flags = [], env = {} }: Trial = {}): AgentProcess {
    return AgentProcess.start({
      nodeName: this.node,
      by: ["unshare", "--mount", "sh", "-ec", asInPod, "sh", this.#account, this.cache],
      env: {
        KUBERNETES_SERVICE_HOST: "127.0.0.1",
        KUBERNETES_SERVICE_PORT: String(this.plane.port),
        ...env,
      },
      main: join(root, "dist", "larder.mjs"),
      nodeFlags: ["--lite-mode", "--max-semi-space-size=2", "--no-warnings", ...flags],
      args: [
        `--cache-path=${this.cache}`,
        `--insecure-registry=${this.registry.host}`,
        "--min-free=0",
        ...args,
      ],
    });
  }

  async declare(name: string, source: string): Promise<void> {
    await this.plane.ask(caches, {
      method: "POST",
      body: {
        apiVersion: "image-cache.scality.com/v1alpha1",
        kind: "ImageCache",
        metadata: { name },
        spec: { source, cachePath: this.cache },
      },
    });
  }

  async remove(name: string): Promise<void> {
    await this.plane.ask(`${caches}/${name}`, { method: "DELETE" });
  }

  async synced(name: string): Promise<void> {
    await until(`${name} is synced`, async () => {
      const node = (await this.plane.ask(`/api/v1/nodes/${this.node}`)) as NodeJson;
      return node.metadata.labels?.[`${prefix}${name}`] === "synced";
    });
  }

  /** Nodes of the cluster that run no agent here, up to so many with the one that does. */
  async growTo(nodes: number): Promise<void> {
    const more = Array.from({ length: nodes - 1 - this.#nodes }, (_, index) => this.#nodes + index);
    this.#nodes = Math.max(nodes - 1, this.#nodes);
    const waiting = more.values();
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (const index of waiting) await this.#addNode(`other-${index}`);
      }),
    );
  }

  /** What a kubelet says of its node again and again, for some of the others. */
  async beat(count: number): Promise<void> {
    for (let index = 0; index < Math.min(count, this.#nodes); index++) {
      await this.plane.ask(`/api/v1/nodes/other-${index}/status`, {
        method: "PATCH",
        headers: { "content-type": "application/merge-patch+json" },
        body: { status: { nodeInfo: { bootID: `${index}-${Math.random()}` } } },
      });
    }
  }

  async push(name: BenchImage["name"]): Promise<string> {
    const image = await benchImage(name);
    const [from, to] = [`oci:${image.layout}:bench`, `docker://${this.registry.host}/${name}:1`];
    const copy = ["copy", "--quiet", "--dest-tls-verify=false", "--preserve-digests"];
    await runCommand("skopeo", [...copy, from, to]);
    return `${this.registry.host}/${name}:1`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.plane.stop(), this.registry.stop()]);
  }

  async #addNode(name: string): Promise<void> {
    const body = { apiVersion: "v1", kind: "Node", metadata: { name } };
    await this.plane.ask("/api/v1/nodes", { method: "POST", body });
  }
}

interface NodeJson {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
}
