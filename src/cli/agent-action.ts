import { Agent } from "../agent/agent.ts";
import { throttle } from "../agent/bandwidth.ts";
import { AgentMetrics } from "../agent/metrics.ts";
import { TokenBucket } from "../agent/token-bucket.ts";
import { chooseAccess, usesServiceAccount } from "../kube/access-choice.ts";
import { Client } from "../kube/client.ts";
import { EventRecorder } from "../kube/event-recorder.ts";
import { systemClock } from "../registry/clock.ts";
import type { Image } from "../registry/image.ts";
import type { Registry } from "../registry/registry.ts";
import { startHealthServer } from "../telemetry/health-server.ts";
import { LineWriter } from "../telemetry/line-writer.ts";
import { jsonLog, type Log } from "../telemetry/log.ts";
import type { AgentGiven } from "./agent-options.ts";
import { parseAgent, type AgentRequest } from "./agent-request.ts";
import { giveBackMemory, tuneMemory } from "./memory.ts";
import type { Shell } from "./shell.ts";
import { version } from "./version.ts";

const clock = systemClock;

/** Runs the agent until a signal; returns the exit code. Throws LarderError where it cannot go on. */
export async function runAgent(given: AgentGiven, shell: Shell): Promise<number> {
  tuneMemory();
  const { environment, signal } = shell;
  const request = parseAgent(given, environment);
  const { nodeName, logLevel, kubeconfig, minFree } = request;
  const out = new LineWriter(1);
  const log = jsonLog({
    write: (line) => {
      out.write(line);
    },
    level: logLevel,
    fields: { node: nodeName },
  });
  const metrics = new AgentMetrics({ version, node: nodeName, minFree, clock });
  const client = new Client({
    access: await chooseAccess({ kubeconfig, environment }),
    userAgent: `larder-agent/${version}`,
    clock,
    onContact: (answered) => {
      metrics.contact(answered);
    },
  });
  const registries = new LazyRegistry(request, environment, log);
  const events = new EventRecorder({
    client,
    component: "image-cache-agent",
    instance: nodeName,
    onDropped: (dropped) => {
      metrics.eventsDropped(dropped);
    },
    onError: (error) => {
      log.debug("cannot write an event", { error });
    },
    clock,
    random: Math.random,
  });
  const agent = new Agent({
    ...request,
    client,
    events,
    registry: async () => registries.get(),
    throttle: throttleOf(request.bandwidth),
    hurry: shell.hurry,
    inContainer: usesServiceAccount({ kubeconfig, environment }),
    rested: giveBackMemory,
    log,
    metrics,
    clock,
    random: Math.random,
  });
  const server = await startHealthServer({
    address: request.health,
    healthy: () => agent.unhealthy(),
    ready: () => agent.unready(),
    metrics: metrics.metrics,
  });
  log.info("listening", { url: server.url });
  try {
    await agent.run(signal);
    log.info("the agent ends");
    return 0;
  } finally {
    await server.close();
    out.flush();
    registries.close();
    client.close();
  }
}

function throttleOf(bandwidth: number | undefined): (image: Image) => Image {
  if (bandwidth === undefined) return (image) => image;
  const bucket = new TokenBucket({ bytesPerSecond: bandwidth, clock });
  return (image) => throttle(image, bucket);
}

/** The registry client, loaded and opened when the first image is wanted: an idle agent has none. */
class LazyRegistry {
  readonly #request: AgentRequest;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #log: Log;
  #opened: Promise<Registry> | undefined;
  #close: (() => void) | undefined;

  constructor(request: AgentRequest, environment: NodeJS.ProcessEnv, log: Log) {
    this.#request = request;
    this.#environment = environment;
    this.#log = log;
  }

  get(): Promise<Registry> {
    this.#opened ??= this.#open().catch((error: unknown) => {
      // What failed to load (no file descriptors left) may succeed the next time.
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  close(): void {
    this.#close?.();
  }

  async #open(): Promise<Registry> {
    const { Registry } = await import("../registry/registry.ts");
    const registry = new Registry({
      ...this.#request.access,
      environment: this.#environment,
      notify: (notice) => {
        if (notice.kind === "retry") {
          const { what, why, delayMs } = notice;
          this.#log.info("a request is tried again", { what, why, delayMs: Math.round(delayMs) });
        } else this.#log.warn("the registry client warns", { warning: notice.message });
      },
      userAgent: `larder/${version}`,
    });
    this.#close = () => {
      registry.close();
    };
    return registry;
  }
}
