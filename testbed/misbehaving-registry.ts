import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import { manifestsOf } from "./built-image.ts";
import type { BuiltImage, BuiltIndex } from "./built-image.ts";
import type { Certificates } from "./certificates.ts";
import { FaultScript } from "./fault.ts";
import type { Fault, FaultRule } from "./fault.ts";
import { TokenDesk } from "./token-desk.ts";
import type { Authentication } from "./token-desk.ts";

export interface MisbehavingRegistryOptions {
  readonly tls?: Certificates;
  readonly authentication?: Authentication;
  /** Default 127.0.0.1. */
  readonly address?: string;
}

/** A request as it arrived. */
export interface Seen {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
}

interface Stored {
  readonly mediaType: string;
  readonly bytes: Buffer;
}

/** A registry inside this process, which can misbehave on purpose. */
export class MisbehavingRegistry {
  readonly tokens: TokenDesk | undefined;
  readonly seen: Seen[] = [];
  /** Connections that were ever made to it, TLS or not. */
  accepted = 0;
  readonly #server: Server;
  readonly #scheme: string;
  readonly #faults = new FaultScript();
  /** By path: `/v2/<repository>/blobs/<digest>`, `/v2/<repository>/manifests/<tag or digest>`. */
  readonly #stored = new Map<string, Stored>();
  readonly #sockets = new Set<Socket>();

  constructor({ tls, authentication }: MisbehavingRegistryOptions) {
    this.tokens = authentication && new TokenDesk(authentication);
    this.#scheme = tls ? "https" : "http";
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(asError(error)));
    };
    this.#server = tls
      ? createHttpsServer({ key: tls.key, cert: tls.certificate }, answer)
      : createHttpServer(answer);
    this.#server.on("connection", (socket: Socket) => {
      this.accepted += 1;
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  async listen(address: string): Promise<void> {
    this.#server.listen(0, address);
    await once(this.#server, "listening");
  }

  /** `127.0.0.1:34567`, as references name it. */
  get host(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("it does not listen");
    const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
    return `${name}:${address.port}`;
  }

  get port(): number {
    return Number(this.host.slice(this.host.lastIndexOf(":") + 1));
  }

  get url(): string {
    return `${this.#scheme}://${this.host}`;
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#sockets.size;
  }

  misbehave(path: RegExp, fault: Fault, times: FaultRule["times"] = 1): void {
    this.#faults.add({ path, fault, times });
  }

  /** Serves an image with everything below it, under a tag and its digests. */
  hold(repository: string, tag: string, image: BuiltImage | BuiltIndex): void {
    for (const [digest, bytes] of image.blobs) this.blob(repository, digest, bytes);
    for (const each of manifestsOf(image)) {
      this.manifest(repository, each.digest, each.mediaType, each.manifest);
    }
    this.manifest(repository, tag, image.mediaType, image.manifest);
  }

  manifest(repository: string, name: string, mediaType: string, bytes: Buffer): void {
    this.#stored.set(`/v2/${repository}/manifests/${name}`, { mediaType, bytes });
  }

  blob(repository: string, digest: string, bytes: Buffer): void {
    const mediaType = "application/octet-stream";
    this.#stored.set(`/v2/${repository}/blobs/${digest}`, { mediaType, bytes });
  }

  /** Serves bytes under any path, as a blob store behind a redirect does. */
  file(path: string, bytes: Buffer): void {
    this.#stored.set(path, { mediaType: "application/octet-stream", bytes });
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url: path = "", headers } = request;
    this.seen.push({ method, path, headers });
    const fault = this.#faults.take(path);
    if (fault && !needsTruth(fault)) return this.#lie(request, response, fault);
    if (this.tokens && path.startsWith("/token")) return this.tokens.answer(request, response);
    const repository = /^\/v2\/(.+)\/(?:manifests|blobs)\//.exec(path)?.[1];
    if (this.tokens && repository !== undefined && !this.tokens.admits(headers.authorization)) {
      const challenge = this.tokens.challenge(repository, this.url);
      response.writeHead(401, { "WWW-Authenticate": challenge }).end();
      return;
    }
    const stored = this.#stored.get(path.split("?", 1)[0] ?? "");
    if (stored) return serve(request, response, stored, fault);
    const code = path.includes("/blobs/") ? "BLOB_UNKNOWN" : "MANIFEST_UNKNOWN";
    response.writeHead(404, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ errors: [{ code, message: "not known here" }] }));
  }

  #lie(request: IncomingMessage, response: ServerResponse, fault: Fault): void {
    if (fault.kind === "drop") request.socket.destroy();
    if (fault.kind === "redirect") {
      response.writeHead(fault.status ?? 307, { Location: fault.to }).end("moved");
    }
    if (fault.kind !== "answer") return;
    const body = Buffer.from(fault.body ?? "");
    const length = fault.chunked === true ? {} : { "Content-Length": body.length };
    response.writeHead(fault.status, { ...length, ...fault.headers });
    response.end(body);
  }
}

/** Starts a registry inside this process on a free port. */
export async function startMisbehavingRegistry(
  options: MisbehavingRegistryOptions = {},
): Promise<MisbehavingRegistry> {
  const registry = new MisbehavingRegistry(options);
  await registry.listen(options.address ?? "127.0.0.1");
  return registry;
}

/** Whether a fault spoils the true answer, and does not take its place. */
function needsTruth(fault: Fault): boolean {
  if (fault.kind === "stall") return fault.after !== undefined;
  return !["answer", "drop", "redirect"].includes(fault.kind);
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  stored: Stored,
  fault: Fault | undefined,
): Promise<void> {
  const whole = fault?.kind === "bytes" ? fault.body : stored.bytes;
  const from = ignoresRange(fault) ? undefined : rangeStart(request.headers.range);
  const bytes = from === undefined ? whole : whole.subarray(from);
  const chunked = fault?.kind === "bytes" && fault.chunked === true;
  if (from !== undefined && from >= whole.length) {
    response.writeHead(416).end();
    return;
  }
  response.writeHead(from === undefined ? 200 : 206, {
    "Content-Type": stored.mediaType,
    ...(!chunked && { "Content-Length": bytes.length }),
    ...(from !== undefined && {
      "Content-Range": `bytes ${from}-${whole.length - 1}/${whole.length}`,
    }),
    ...(fault?.kind === "headers" && fault.headers),
  });
  await send(request, response, bytes, fault);
}

function ignoresRange(fault: Fault | undefined): boolean {
  return fault?.kind === "ignore range" || (fault?.kind === "cut" && fault.ignoreRange === true);
}

function rangeStart(header: string | undefined): number | undefined {
  const start = /^bytes=(\d+)-$/.exec(header ?? "")?.[1];
  return start === undefined ? undefined : Number(start);
}

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
  fault: Fault | undefined,
): Promise<void> {
  if (fault?.kind === "cut" || fault?.kind === "stall") {
    await written(response, bytes.subarray(0, fault.after));
    if (fault.kind === "cut") request.socket.end();
    return;
  }
  if (fault?.kind === "slow") {
    for (let at = 0; at < bytes.length && !response.destroyed; at += fault.bytes) {
      await written(response, bytes.subarray(at, at + fault.bytes));
      await delay(fault.everyMs);
    }
    response.end();
    return;
  }
  response.end(bytes);
}

async function written(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (bytes.length === 0) response.flushHeaders();
  else await new Promise((resolve) => response.write(bytes, resolve));
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
