import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { AgentProcess } from "../testbed/agent-process.ts";
import type { NodeSeat } from "./scale-messages.ts";

const root = join(import.meta.dirname, "..");
const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
/**
 * Each has the folder of its service account, and its own directory under the one cache path, and ends
 * with this process, however that ends.
 */
const asInPod = `mount -t tmpfs none /run
mkdir -p ${accountFolder}
mount --bind "$1" ${accountFolder}
mount --bind "$2" "$3"
shift 3
exec setpriv --pdeathsig KILL "$@"`;

export interface AgentsPlace {
  /** A folder for what they need and make. */
  readonly home: string;
  readonly ca: string;
  /** `127.0.0.1:5000`. */
  readonly registry: string;
}

/** Agents of the bundle, as in pods of as many nodes, on one machine. */
export class ScaleAgents implements AsyncDisposable {
  /** The same on all nodes. */
  readonly cachePath: string;
  readonly #place: AgentsPlace;
  #agents: readonly AgentProcess[] = [];

  constructor(place: AgentsPlace) {
    this.#place = place;
    this.cachePath = join(place.home, "cache");
  }

  /** Starts one on each seat, and waits until all know what there is; those of before are ended. */
  async start(seats: readonly NodeSeat[], args: readonly string[]): Promise<void> {
    await this.stop();
    await mkdir(this.cachePath, { recursive: true });
    this.#agents = await Promise.all(seats.map((seat) => this.#start(seat, args)));
    await Promise.all(
      this.#agents.map(async (agent) => {
        await agent.says("listening");
        await agent.says("the agent runs");
      }),
    );
  }

  /** How many say that they have it. */
  synced(name: string): number {
    const has = (agent: AgentProcess): boolean =>
      agent.said("an image cache is synced").some((line) => line["cache"] === name);
    return this.#agents.filter(has).length;
  }

  /** How many have both watches open. */
  async live(): Promise<number> {
    const states = await Promise.all(
      this.#agents.map(async (agent) => {
        const { text } = await agent.get("/metrics");
        return [...text.matchAll(/^larder_watch_open\{.*\} 1$/gm)].length === 2;
      }),
    );
    return states.filter(Boolean).length;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent.stop()));
    this.#agents = [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #start(seat: NodeSeat, args: readonly string[]): Promise<AgentProcess> {
    const { home, ca, registry } = this.#place;
    const account = join(home, seat.name, "account");
    const own = join(home, seat.name, "cache");
    await mkdir(account, { recursive: true });
    await mkdir(own, { recursive: true });
    await writeFile(join(account, "ca.crt"), ca);
    await writeFile(join(account, "namespace"), "larder-system");
    await writeFile(join(account, "token"), seat.token, { mode: 0o600 });
    const { hostname, port } = new URL(seat.server);
    return AgentProcess.start({
      nodeName: seat.name,
      by: ["unshare", "--mount", "sh", "-ec", asInPod, "sh", account, own, this.cachePath],
      env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
      main: join(root, "dist", "larder.mjs"),
      nodeFlags: ["--max-semi-space-size=2", "--no-warnings"],
      args: [
        `--cache-path=${this.cachePath}`,
        `--insecure-registry=${registry}`,
        "--min-free=0",
        ...args,
      ],
    });
  }
}
