import { join } from "node:path";

import type { ControlPlane } from "./control-plane.ts";
import { kwok, kwokStages } from "./kwok.ts";
import { ServerProcess } from "./server-process.ts";

export interface NodesToAdd {
  readonly count: number;
  /** Default `node`: node-0, node-1, ... */
  readonly prefix?: string;
  /** Beside those that a kubelet sets. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Default 120,000. */
  readonly milliseconds?: number;
}

/** How many nodes are made at once. */
const parallel = 16;

/** Starts kwok, which plays the kubelet of every node of that control plane. */
export async function startKwok(plane: ControlPlane): Promise<KwokNodes> {
  const configs = (await kwokStages()).map((path) => `--config=${path}`);
  const process = await ServerProcess.start({
    program: await kwok(),
    args: [
      "--manage-all-nodes=true",
      `--kubeconfig=${plane.adminKubeconfig}`,
      "--node-lease-duration-seconds=40",
      "-v=WARN",
      ...configs,
    ],
    cwd: plane.dir,
    log: join(plane.dir, "kwok.log"),
    env: { HOME: plane.dir },
  });
  return new KwokNodes(plane, process);
}

/** The nodes of a control plane that are only played. */
export class KwokNodes implements AsyncDisposable {
  readonly #plane: ControlPlane;
  readonly #process: ServerProcess;

  constructor(plane: ControlPlane, process: ServerProcess) {
    this.#plane = plane;
    this.#process = process;
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Makes nodes and waits until they are Ready. @returns their names */
  async add(nodes: NodesToAdd): Promise<string[]> {
    const { count, prefix = "node", labels = {}, milliseconds = 120_000 } = nodes;
    const names = Array.from({ length: count }, (_, at) => `${prefix}-${at}`);
    const left = [...names];
    const makeSome = async (): Promise<void> => {
      for (let name = left.pop(); name !== undefined; name = left.pop()) {
        await this.#plane.ask("/api/v1/nodes", { method: "POST", body: nodeOf(name, labels) });
      }
    };
    await Promise.all(Array.from({ length: parallel }, makeSome));
    const wanted = new Set(names);
    await this.#process.untilReady(async () => wanted.isSubsetOf(await this.readyNames()), {
      milliseconds,
      // A list of thousands of nodes is not asked for all the time.
      everyMilliseconds: 100 + count / 10,
    });
    return names;
  }

  /** The names of the nodes that are Ready. */
  async readyNames(): Promise<Set<string>> {
    const answer = await this.#plane.ask("/api/v1/nodes?resourceVersion=0");
    const { items } = answer as NodeList;
    return new Set(items.filter(isReady).map(({ metadata }) => metadata.name));
  }

  async stop(): Promise<void> {
    await this.#process.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

interface NodeList {
  readonly items: readonly NodeStatus[];
}

interface NodeStatus {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

function isReady({ status }: NodeStatus): boolean {
  return (
    status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false
  );
}

function nodeOf(name: string, labels: Readonly<Record<string, string>>) {
  const own = { "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { ...own, "kubernetes.io/hostname": name, ...labels } },
  };
}
