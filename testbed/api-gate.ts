import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Agent, request } from "node:https";
import type { Socket } from "node:net";

import { sendStatus } from "./api-answer.ts";

/** A request as it came through, or was refused. */
export interface Gated {
  readonly method: string;
  readonly path: string;
  readonly watch: boolean;
  /** Milliseconds on the monotonic clock. */
  readonly at: number;
}

/** What a request gets in place of the API server's answer. */
export type GateFault =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly reason: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** A watch that begins with this ERROR event, and ends. */
  | { readonly kind: "error event"; readonly status: number; readonly reason: string };

export interface GateTarget {
  /** `https://127.0.0.1:23456`. */
  readonly url: string;
  readonly ca: string;
  readonly adminToken: string;
}

/**
 * Stands in front of a real API server, speaks plain HTTP, lets everything through as the admin's, and
 * refuses what it is told to refuse.
 */
export class ApiGate implements AsyncDisposable {
  /** Every request, in the order in which they came. */
  readonly seen: Gated[] = [];
  /** Which requests do not get through, and what they get. */
  fault: (asked: Gated) => GateFault | undefined = () => undefined;
  readonly #target: GateTarget;
  readonly #agent: Agent;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(target: GateTarget) {
    this.#target = target;
    this.#agent = new Agent({ keepAlive: true, ca: target.ca });
    this.#server = createServer((asking, response) => {
      this.#answer(asking, response);
    });
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  /** `http://127.0.0.1:34567`. */
  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("it does not listen");
    return `http://127.0.0.1:${address.port}`;
  }

  /** Breaks every connection, open watches among them. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.cutAll();
    await once(this.#server, "close");
    this.#agent.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #answer(asking: IncomingMessage, response: ServerResponse): void {
    const { method = "", url: path = "" } = asking;
    const gated = { method, path, watch: /[?&]watch=true/.test(path), at: performance.now() };
    this.seen.push(gated);
    const fault = this.fault(gated);
    if (fault === undefined) this.#pass(asking, response, gated);
    else {
      asking.resume();
      refuse(response, fault);
    }
  }

  #pass(asking: IncomingMessage, response: ServerResponse, { method, path }: Gated): void {
    const onward = request(`${this.#target.url}${path}`, {
      method,
      agent: this.#agent,
      headers: { ...asking.headers, authorization: `Bearer ${this.#target.adminToken}` },
    });
    const broken = (): void => {
      response.destroy();
    };
    onward.on("error", broken);
    onward.once("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.once("error", broken).pipe(response);
    });
    response.once("close", () => onward.destroy());
    asking.pipe(onward);
  }
}

function refuse(response: ServerResponse, fault: GateFault): void {
  const { status, reason } = fault;
  if (fault.kind === "answer") {
    sendStatus(response, status, reason, reason, fault.headers);
    return;
  }
  const object = { kind: "Status", apiVersion: "v1", status: "Failure", code: status, reason };
  response.writeHead(200, { "Content-Type": "application/json" });
  response.end(`${JSON.stringify({ type: "ERROR", object })}\n`);
}

/** Starts one on a free port. */
export async function startApiGate(target: GateTarget): Promise<ApiGate> {
  const gate = new ApiGate(target);
  await gate.listen();
  return gate;
}
