import { join } from "node:path";

import { ApiRequests } from "./api-requests.ts";
import * as argumentsOf from "./control-plane-arguments.ts";
import { freePort } from "./free-port.ts";
import { etcd, kubernetesPrograms } from "./kubernetes.ts";
import type { KubernetesPrograms } from "./kubernetes.ts";
import { serves } from "./served-certificate.ts";
import { ServerProcess } from "./server-process.ts";

export interface ControlPlaneOptions {
  /** Run the controller manager too, and wait for it. */
  readonly controllerManager?: boolean;
  /** Run the scheduler too, and wait for it. */
  readonly scheduler?: boolean;
  /** Added to the API server's. */
  readonly apiServerFlags?: readonly string[];
}

export interface ControlPlanePrograms extends KubernetesPrograms {
  readonly etcd: string;
}

/** Built on first use. */
export async function controlPlanePrograms(): Promise<ControlPlanePrograms> {
  return { ...(await kubernetesPrograms()), etcd: await etcd() };
}

type ServerName = "etcd" | "apiServer" | "controllerManager" | "scheduler";

/** With watches open, an API server that is asked to stop waits for a minute. */
const graceMilliseconds = 2_000;

/** The running programs of one control plane. */
export class ControlPlaneServers {
  readonly #programs: ControlPlanePrograms;
  readonly #options: ControlPlaneOptions;
  readonly #dir: string;
  readonly #port: number;
  readonly #api: ApiRequests;
  readonly #running = new Map<ServerName, ServerProcess>();

  /** @param api asks the API server as the admin */
  constructor(
    programs: ControlPlanePrograms,
    options: ControlPlaneOptions,
    place: { readonly dir: string; readonly port: number },
    api: ApiRequests,
  ) {
    this.#programs = programs;
    this.#options = options;
    this.#dir = place.dir;
    this.#port = place.port;
    this.#api = api;
  }

  /** Process ids by name, of those that run. */
  get pids(): Readonly<Partial<Record<ServerName, number>>> {
    const running = [...this.#running].filter(([, server]) => server.running);
    return Object.fromEntries(running.map(([name, { pid }]) => [name, pid]));
  }

  async startAll(): Promise<void> {
    // The API server waits for etcd by itself.
    await this.#start("etcd", argumentsOf.etcdArguments());
    await this.startApiServer();
    await Promise.all([
      this.#options.controllerManager === true ? this.#startControllerManager() : undefined,
      this.#options.scheduler === true ? this.#startScheduler() : undefined,
    ]);
  }

  async startApiServer(): Promise<void> {
    const more = this.#options.apiServerFlags ?? [];
    const args = [...argumentsOf.apiServerArguments(this.#port), ...more];
    const server = await this.#start("apiServer", args);
    await server.untilReady(
      async () =>
        (await this.#answers(this.#api, "/readyz")) &&
        // Made a moment later, and everything that names none lands in it.
        (await this.#answers(this.#api, "/api/v1/namespaces/default")),
    );
  }

  /** The API server has read that certificate, which it does by itself. */
  async untilServing(certificate: string): Promise<void> {
    const server = this.#running.get("apiServer");
    await server?.untilReady(() => serves(this.#port, certificate));
  }

  async stopApiServer(how: "terminate" | "kill"): Promise<void> {
    const server = this.#running.get("apiServer");
    await (how === "kill" ? server?.kill() : server?.stop(graceMilliseconds));
  }

  signalApiServer(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#running.get("apiServer")?.signal(signal);
  }

  async killAll(): Promise<void> {
    await Promise.all([...this.#running.values()].map((server) => server.kill()));
  }

  async #startControllerManager(): Promise<void> {
    const port = await freePort();
    const args = argumentsOf.controllerManagerArguments(port);
    const server = await this.#start("controllerManager", args);
    // Without it no pod is admitted.
    const account = "/api/v1/namespaces/default/serviceaccounts/default";
    await server.untilReady(() => this.#answers(this.#api, account));
  }

  async #startScheduler(): Promise<void> {
    const port = await freePort();
    const server = await this.#start("scheduler", argumentsOf.schedulerArguments(port));
    const own = this.#api.at(`https://127.0.0.1:${port}`);
    try {
      await server.untilReady(() => this.#answers(own, "/readyz"));
    } finally {
      own.close();
    }
  }

  async #start(name: ServerName, args: readonly string[]): Promise<ServerProcess> {
    const program = this.#programs[name];
    const log = join(this.#dir, `${name}.log`);
    const server = await ServerProcess.start({ program, args, cwd: this.#dir, log });
    this.#running.set(name, server);
    return server;
  }

  async #answers(api: ApiRequests, path: string): Promise<boolean> {
    return (await api.send(path)).status === 200;
  }
}
