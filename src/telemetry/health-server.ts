import type { Server, ServerResponse } from "node:http";
import { isIPv6, type AddressInfo, type Socket } from "node:net";

import { hasCode, LarderError } from "../errors.ts";
import { formatListenAddress, type ListenAddress } from "./listen-address.ts";
import type { Metrics } from "./metrics.ts";

// An import of it as a value would load all of undici, for WebSocket.
const { createServer } = process.getBuiltinModule("node:http");

/** Undefined where all is well, else what is not, in a few words. */
export type Check = () => string | undefined;

export interface HealthServerOptions {
  readonly address: ListenAddress;
  /** Whether this process does its work; if not, it should be started anew. */
  readonly healthy: Check;
  /** Whether it has begun to. */
  readonly ready: Check;
  readonly metrics: Metrics;
}

export interface HealthServer {
  /** Without a path: `http://127.0.0.1:8081`. */
  readonly url: string;
  /** Closes every connection, too. */
  close(): Promise<void>;
}

/** Probes and scrapes are short and few; whoever takes longer is neither. */
const limits = {
  maxHeaderSize: 8 * 1024,
  headersTimeout: 5000,
  requestTimeout: 5000,
  connectionsCheckingInterval: 2000,
};
/**
 * In milliseconds, without a byte in any direction: a client that does not read its answer. Node lets
 * it pass twice where bytes wait.
 */
const silence = 2500;
/** Beyond it the oldest connection has to go, so that no crowd of idle ones keeps a probe out. */
const mostConnections = 64;

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Serves `/healthz`, `/readyz` and `/metrics`.
 *
 * @throws LarderError `network`: the address cannot be had
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const server = createServer(limits, (request, response) => {
    // A request has no body that anybody wants.
    request.resume();
    void answer(request.method, request.url, options).then((answer) => {
      send(response, answer);
    });
  });
  server.setTimeout(silence);
  const connections = boundedConnections(server);
  await listen(server, options.address);
  return {
    url: urlOf(server.address()),
    close: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
      for (const socket of connections) socket.destroy();
      await closed;
    },
  };
}

async function answer(
  method = "GET",
  url = "/",
  { healthy, ready, metrics }: HealthServerOptions,
): Promise<Answer> {
  if (method !== "GET" && method !== "HEAD") {
    return { status: 405, text: "GET or HEAD\n", headers: { allow: "GET, HEAD" } };
  }
  try {
    switch (url.replace(/\?.*$/s, "")) {
      case "/healthz":
        return checked(healthy);
      case "/readyz":
        return checked(ready);
      case "/metrics":
        return {
          status: 200,
          text: await metrics.text(),
          headers: { "content-type": metrics.contentType },
        };
      default:
        return { status: 404, text: "/healthz, /readyz or /metrics\n" };
    }
  } catch (error) {
    return { status: 500, text: `${error instanceof Error ? error.message : String(error)}\n` };
  }
}

function checked(check: Check): Answer {
  const why = check();
  return why === undefined ? { status: 200, text: "ok\n" } : { status: 503, text: `${why}\n` };
}

function send(response: ServerResponse, { status, text, headers }: Answer): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    // The next one makes a connection of its own, and none is kept for nobody.
    connection: "close",
    ...headers,
  });
  // Node leaves the body of an answer to HEAD out.
  response.end(text);
}

/** The open connections, oldest first, of which there are never more than the bound. */
function boundedConnections(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    const [oldest] = open;
    if (open.size > mostConnections) oldest?.destroy();
  });
  return open;
}

async function listen(server: Server, address: ListenAddress): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(address, () => {
        server.off("error", reject);
        resolve();
      });
    });
  } catch (error) {
    throw cannotListen(address, error);
  }
}

function cannotListen(address: ListenAddress, error: unknown): LarderError {
  const { why, todo } = reasonOf(error, address);
  return new LarderError("network", {
    what: `cannot listen on ${formatListenAddress(address)}`,
    why,
    todo,
    cause: error,
  });
}

function reasonOf(error: unknown, { host, port }: ListenAddress): { why: string; todo: string } {
  if (hasCode(error, "EADDRINUSE")) {
    return { why: "another process listens there", todo: "stop that, or choose another port" };
  }
  if (hasCode(error, "EADDRNOTAVAIL")) {
    return { why: `this machine has no address ${host ?? ""}`, todo: "choose one that it has" };
  }
  if (hasCode(error, "EACCES")) {
    return { why: `port ${port} is for root alone`, todo: "choose one from 1024 on" };
  }
  const why = error instanceof Error ? error.message : String(error);
  return { why, todo: "choose another address" };
}

function urlOf(bound: AddressInfo | string | null): string {
  if (bound === null || typeof bound === "string") throw new Error("the server does not listen");
  const { address, port } = bound;
  // The unspecified address is none that can be connected to.
  if (address === "::" || address === "0.0.0.0") return `http://127.0.0.1:${port}`;
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`;
}
