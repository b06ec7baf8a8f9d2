/** A cluster with one node, a registry, and a cache path: what the agent's suites work with. */
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, type TestContext } from "node:test";

import { AgentProcess, type AgentStart } from "../../testbed/agent-process.ts";
import { startControlPlane, type ControlPlane } from "../../testbed/control-plane.ts";
import { startDockerRegistry, type DockerRegistry } from "../../testbed/docker-registry.ts";
import { buildImage, pushImage } from "../../testbed/image-builder.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";

export const prefix = "image-cache.scality.com/";
const crd = new URL("../../deploy/crds/imagecache.yaml", import.meta.url).pathname;

/** What an ImageCache says, as a test writes it. */
export interface CacheInput {
  readonly source: string;
  readonly cachePath?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
}

export interface StartOptions extends Partial<Omit<AgentStart, "args">> {
  /** Without a kubeconfig, which otherwise is the admin's. */
  readonly inPod?: boolean;
}

/** One control plane and one registry for a whole suite. */
export class Suite {
  readonly plane: ControlPlane;
  readonly registry: DockerRegistry;

  private constructor(plane: ControlPlane, registry: DockerRegistry) {
    this.plane = plane;
    this.registry = registry;
  }

  /** Starts both, and ends them after the suite. */
  static async start(): Promise<Suite> {
    const [plane, registry] = await Promise.all([startControlPlane(), startDockerRegistry()]);
    after(async () => {
      await Promise.all([plane.stop(), registry.stop()]);
    });
    const suite = new Suite(plane, registry);
    await suite.installCrd();
    return suite;
  }

  async installCrd(): Promise<void> {
    await this.plane.apply(crd);
    await this.plane.kubectl(
      "wait",
      "--for=condition=Established",
      "--timeout=20s",
      "crd",
      "--all",
    );
  }

  /** Pushes an image with these files, and returns its reference. */
  async push(repository: string, tag: string, files: Readonly<Record<string, string | Buffer>>) {
    const image = buildImage({
      layers: [
        {
          compression: "gzip",
          entries: Object.entries(files).map(([name, content]) => ({ path: name, content })),
        },
      ],
    });
    await pushImage(this.registry.url, repository, tag, image);
    return `${this.registry.host}/${repository}:${tag}`;
  }

  /** A world of a test's own on the suite's cluster, emptied after the test. */
  async world(t: TestContext): Promise<World> {
    const agents: AgentProcess[] = [];
    // Before the folder goes: an agent that still runs would write into it.
    t.after(async () => {
      await Promise.all(agents.map(async (agent) => agent[Symbol.asyncDispose]()));
    });
    const cachePath = join(await tempDirectory(t), "cache");
    await mkdir(cachePath);
    await chmod(cachePath, 0o755);
    const world = new World(this, agents, cachePath, `node-${randomBytes(4).toString("hex")}`);
    t.after(async () => {
      await this.plane.kubectl("delete", "imagecaches", "--all", "--wait=true");
      await this.plane.kubectl("delete", "nodes", "--all", "--wait=true");
    });
    await world.createNode({ "kubernetes.io/os": "linux" });
    return world;
  }
}

/** One test's node, its cache path and its agents. */
export class World {
  readonly suite: Suite;
  readonly cachePath: string;
  readonly nodeName: string;
  readonly #agents: AgentProcess[];

  /** @param agents gets every agent that is started */
  constructor(suite: Suite, agents: AgentProcess[], cachePath: string, nodeName: string) {
    this.suite = suite;
    this.#agents = agents;
    this.cachePath = cachePath;
    this.nodeName = nodeName;
  }

  get plane(): ControlPlane {
    return this.suite.plane;
  }

  async createNode(labels: Readonly<Record<string, string>>): Promise<void> {
    await this.plane.ask("/api/v1/nodes", {
      method: "POST",
      body: { apiVersion: "v1", kind: "Node", metadata: { name: this.nodeName, labels } },
    });
  }

  /** Starts an agent of this node, killed after the test if it still runs then. */
  start(args: readonly string[] = [], options: StartOptions = {}): AgentProcess {
    const { kubeconfig = this.plane.adminKubeconfig, inPod = false, ...rest } = options;
    const agent = AgentProcess.start({
      nodeName: this.nodeName,
      ...(!inPod && { kubeconfig }),
      ...rest,
      args: [
        `--cache-path=${this.cachePath}`,
        `--insecure-registry=${this.suite.registry.host}`,
        ...(args.some((arg) => arg.startsWith("--min-free")) ? [] : ["--min-free=0"]),
        ...args,
      ],
    });
    this.#agents.push(agent);
    return agent;
  }

  /** Creates or changes an ImageCache; its cache path is the world's where none is named. */
  async apply(name: string, { cachePath = this.cachePath, ...spec }: CacheInput): Promise<void> {
    await this.plane.ask(`${cachesUrl}/${name}?fieldManager=test&force=true`, {
      method: "PATCH",
      headers: { "content-type": "application/apply-patch+yaml" },
      body: {
        apiVersion: "image-cache.scality.com/v1alpha1",
        kind: "ImageCache",
        metadata: { name },
        spec: { cachePath, ...spec },
      },
    });
  }

  async remove(name: string): Promise<void> {
    await this.plane.ask(`${cachesUrl}/${name}`, { method: "DELETE" });
  }

  /** All labels of the node. */
  async labels(): Promise<Readonly<Record<string, string>>> {
    const { status, json } = await this.plane.raw(`/api/v1/nodes/${this.nodeName}`);
    return status === 200 ? ((json as NodeJson).metadata.labels ?? {}) : {};
  }

  async label(labels: Readonly<Record<string, string | null>>): Promise<void> {
    await this.plane.ask(`/api/v1/nodes/${this.nodeName}`, {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: { metadata: { labels } },
    });
  }

  /** Waits until a cache's label says so; undefined: until it is gone. */
  async says(name: string, sync: "synced" | "pending" | undefined): Promise<void> {
    await this.#until(
      `the label of ${name} is ${sync ?? "gone"}`,
      async () => (await this.labels())[`${prefix}${name}`] === sync,
    );
  }

  path(...parts: readonly string[]): string {
    return join(this.cachePath, ...parts);
  }

  async read(name: string, file: string): Promise<string | undefined> {
    return readFile(this.path(name, file), "utf8").catch(() => undefined);
  }

  /** Waits until a cached file has this content. */
  async holds(name: string, file: string, content: string): Promise<void> {
    await this.#until(
      `${name}/${file} is right`,
      async () => (await this.read(name, file)) === content,
    );
  }

  /** What stands in the cache path, the agent's own notes left out. */
  async entries(): Promise<readonly string[]> {
    const names = await readdir(this.cachePath);
    return names.filter((name) => !name.startsWith(".larder-agent.json")).sort();
  }

  async delete(...parts: readonly string[]): Promise<void> {
    await rm(this.path(...parts), { recursive: true });
  }

  /** Notes of the events with this reason that regard a cache. */
  async events(name: string, reason: string): Promise<readonly string[]> {
    const list = (await this.plane.ask("/apis/events.k8s.io/v1/namespaces/default/events")) as {
      readonly items: readonly EventJson[];
    };
    return list.items
      .filter((event) => event.regarding.name === name && event.reason === reason)
      .map(({ note }) => note);
  }

  /** Waits for such an event, and returns its note. */
  async event(name: string, reason: string): Promise<string> {
    let found: readonly string[] = [];
    await this.#until(`an event ${reason} of ${name}`, async () => {
      found = await this.events(name, reason);
      return found.length > 0;
    });
    return found[0] ?? "";
  }

  /** Where it does not come true, the last agent's story belongs to the failure. */
  async #until(what: string, holds: () => Promise<boolean>): Promise<void> {
    try {
      await until(what, holds);
    } catch (cause) {
      throw new Error(`${what}: never; ${this.#agents.at(-1)?.story() ?? "no agent"}`, { cause });
    }
  }
}

interface NodeJson {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
}

interface EventJson {
  readonly reason: string;
  readonly note: string;
  readonly regarding: { readonly name: string };
}

const cachesUrl = "/apis/image-cache.scality.com/v1alpha1/imagecaches";
