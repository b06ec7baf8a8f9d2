import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { ApiRequests } from "../testbed/api-requests.ts";
import { AuditLog, type AuditEntry } from "../testbed/audit-log.ts";
import { apiServerArguments } from "../testbed/control-plane-arguments.ts";
import { controlPlanePrograms } from "../testbed/control-plane-servers.ts";
import { startControlPlane, type ControlPlane } from "../testbed/control-plane.ts";
import { freePort } from "../testbed/free-port.ts";
import { ServerProcess } from "../testbed/server-process.ts";
import { cpuSecondsOf, memoryOf } from "./process-figures.ts";
import { turnedAway } from "./scale-flow-control.ts";
import type { NodeSeat } from "./scale-messages.ts";

const root = join(import.meta.dirname, "..");
const account = "/api/v1/namespaces/larder-system/serviceaccounts/image-cache-agent";
const caches = "/apis/image-cache.scality.com/v1alpha1/imagecaches";
/** How many requests for nodes are under way at a time. */
const atOnce = 24;

/** What the API servers took so far. */
export interface Usage {
  /** Of all together. */
  readonly cpuSeconds: number;
  /** MiB, of each. */
  readonly memory: readonly number[];
}

/** One etcd, and as many API servers as the system lets have enough connections. */
export class ScaleCluster implements AsyncDisposable {
  readonly plane: ControlPlane;
  /** API servers besides the control plane's own. */
  readonly #more = new Map<number, ServerProcess>();
  readonly #program: string;

  private constructor(plane: ControlPlane, program: string) {
    this.plane = plane;
    this.#program = program;
  }

  /** @param manifests files to apply besides the agent's */
  static async start(apiServers: number, manifests: readonly string[]): Promise<ScaleCluster> {
    const [plane, { apiServer }] = await Promise.all([startControlPlane(), controlPlanePrograms()]);
    const cluster = new ScaleCluster(plane, apiServer);
    try {
      await plane.apply(join(root, "deploy", "crds"));
      await plane.kubectl("wait", "--for=condition=Established", "--timeout=20s", "crd", "--all");
      await plane.apply(join(root, "deploy", "agent"));
      for (const path of manifests) await plane.apply(path);
      for (let index = 1; index < apiServers; index++) await cluster.#serve(await freePort());
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Makes a Node object, and a token of the agent's that is bound to it. */
  async seats(names: readonly string[]): Promise<NodeSeat[]> {
    const seats: NodeSeat[] = [];
    const waiting = names.entries();
    const work = async (): Promise<void> => {
      for (const [index, name] of waiting) seats[index] = await this.#seat(name, index);
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    return seats;
  }

  async declare(name: string, source: string, cachePath: string): Promise<void> {
    const kind = { apiVersion: "image-cache.scality.com/v1alpha1", kind: "ImageCache" };
    const body = { ...kind, metadata: { name }, spec: { source, cachePath } };
    await this.plane.ask(caches, { method: "POST", body });
  }

  async remove(name: string): Promise<void> {
    await this.plane.ask(`${caches}/${name}`, { method: "DELETE" });
  }

  /**
   * All at once, as a crash of the machine would end them: the worst case of an upgrade.
   *
   * @param downMs for how long none is there
   */
  async restart(downMs: number): Promise<void> {
    const ports = [...this.#more.keys()];
    await Promise.all([
      this.plane.stopApiServer("kill"),
      ...[...this.#more.values()].map((server) => server.kill()),
    ]);
    await delay(downMs);
    await Promise.all([this.plane.startApiServer(), ...ports.map((port) => this.#serve(port))]);
  }

  /** What API priority and fairness turned away since the API servers began. */
  async turnedAway(): Promise<ReadonlyMap<string, number>> {
    const all = this.#ports.map(async (port) => {
      const api = new ApiRequests(serverAt(port), this.plane.adminToken, () => this.plane.ca);
      try {
        return turnedAway((await api.send("/metrics")).body);
      } finally {
        api.close();
      }
    });
    const sum = new Map<string, number>();
    for (const [what, count] of (await Promise.all(all)).flatMap((each) => [...each])) {
      sum.set(what, (sum.get(what) ?? 0) + count);
    }
    return sum;
  }

  async usage(): Promise<Usage> {
    const pids = this.#pids();
    const memory = await Promise.all(pids.map(memoryOf));
    const seconds = await Promise.all(pids.map(cpuSecondsOf));
    return {
      cpuSeconds: seconds.reduce((sum, each) => sum + each, 0),
      memory: memory.map(({ rss }) => rss),
    };
  }

  /** Where the audit logs are now, for `since`. */
  async mark(): Promise<readonly number[]> {
    return Promise.all(this.#audits().map((audit) => audit.mark()));
  }

  /** What agents, real ones and simulated ones, asked since then, the beginnings of watches once. */
  async since(mark: readonly number[]): Promise<readonly AuditEntry[]> {
    const filter = { userAgent: /^larder-agent/ };
    const logs = this.#audits();
    const entries = await Promise.all(logs.map((log, at) => log.since(mark[at] ?? 0, filter)));
    return entries.flat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#more.values()].map((server) => server.kill()));
    await this.plane.stop();
  }

  get #ports(): readonly number[] {
    return [this.plane.port, ...this.#more.keys()];
  }

  #pids(): readonly number[] {
    const { apiServer = 0 } = this.plane.pids;
    return [apiServer, ...[...this.#more.values()].map(({ pid }) => pid)];
  }

  #audits(): readonly AuditLog[] {
    const more = [...this.#more.keys()].map(
      (port) => new AuditLog(join(this.plane.dir, auditFile(port))),
    );
    return [this.plane.audit, ...more];
  }

  async #serve(port: number): Promise<void> {
    const server = await ServerProcess.start({
      program: this.#program,
      args: [...apiServerArguments(port), `--audit-log-path=${auditFile(port)}`],
      cwd: this.plane.dir,
      log: join(this.plane.dir, `apiServer-${port}.log`),
    });
    this.#more.set(port, server);
    const { adminToken } = this.plane;
    const api = new ApiRequests(serverAt(port), adminToken, () => this.plane.ca);
    try {
      await server.untilReady(async () => (await api.send("/readyz")).status === 200);
    } finally {
      api.close();
    }
  }

  async #seat(name: string, index: number): Promise<NodeSeat> {
    const node = { apiVersion: "v1", kind: "Node", metadata: { name } };
    const made = (await this.plane.ask("/api/v1/nodes", { method: "POST", body: node })) as Made;
    const boundObjectRef = { apiVersion: "v1", kind: "Node", name, uid: made.metadata.uid };
    const answer = (await this.plane.ask(`${account}/token`, {
      method: "POST",
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: 24 * 3600, boundObjectRef },
      },
    })) as { readonly status: { readonly token: string } };
    const port = this.#ports[index % this.#ports.length] ?? this.plane.port;
    return { name, token: answer.status.token, server: serverAt(port) };
  }
}

interface Made {
  readonly metadata: { readonly uid: string };
}

function serverAt(port: number): string {
  return `https://127.0.0.1:${port}`;
}

function auditFile(port: number): string {
  return `audit-${port}.log`;
}
