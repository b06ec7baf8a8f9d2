import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { LookupFunction } from "node:net";

import { hasCode, interrupted } from "../errors.ts";
import type { Agents, Route } from "./agents.ts";
import { readBody } from "./body.ts";
import { guarded } from "./link-local.ts";
import { networkError } from "./network-error.ts";
import { http, https } from "./node-http.ts";
import { afterSilence } from "./silence.ts";

/** One HTTP request. */
export interface Request {
  readonly method: "GET" | "HEAD" | "POST";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** What is asked for, for messages: `the manifest of registry.example.com/app:1`. */
  readonly what: string;
  readonly signal: AbortSignal;
  /** A server named this URL, so its host may not stand for a link-local address. */
  readonly untrusted?: boolean;
}

/** The answer to a request. Its body is read to the end, or discarded; otherwise it leaks. */
export interface Response {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Where the answer came from in the end. */
  readonly url: URL;
  /** Whether a redirect led to another origin, which then knows nothing of our registry. */
  readonly crossed: boolean;
  /** Whether credentials were sent; undefined where nobody asked for any. */
  readonly signedIn?: boolean;
  /** Can be iterated once; ending early closes the connection. */
  readonly body: AsyncIterable<Buffer>;
  /** Gives the connection up without reading the body. */
  discard(): void;
}

/** What everything about HTTP here is: a function that the policies wrap. */
export type Send = (request: Request) => Promise<Response>;

export interface TransportOptions {
  readonly agents: Agents;
  /** `larder/1.2.3`. */
  readonly userAgent: string;
  /** Milliseconds without a byte after which a connection counts as dropped. */
  readonly stallMs: number;
  readonly lookup?: LookupFunction;
}

/** Signed URLs of blob stores come in headers and are long. */
const maxHeaderSize = 64 * 1024;

/**
 * One HTTP exchange without policy: no redirect, no retry, no credentials. The one exception: a
 * kept-open connection that turns out to have been closed meanwhile is no failure, and another is taken.
 * @throws Failure `network`, LarderError `interrupted`
 */
export function transport(options: TransportOptions): Send {
  return async (request) => {
    for (;;) {
      if (request.signal.aborted) throw stopped(request);
      const route = await options.agents.route(request.url);
      const response = await exchange(request, route, options);
      if (response !== "stale connection") return response;
    }
  };
}

function exchange(
  request: Request,
  route: Route,
  options: TransportOptions,
): Promise<Response | "stale connection"> {
  return new Promise((resolve, reject) => {
    const { signal } = request;
    const outgoing = start(request, route, options);
    const silence = afterSilence(options.stallMs, (stall) => void outgoing.destroy(stall));
    const abort = (): void => {
      outgoing.destroy(stopped(request));
    };
    const release = (): void => {
      silence.stop();
      signal.removeEventListener("abort", abort);
    };
    signal.addEventListener("abort", abort, { once: true });
    outgoing.on("error", (error) => {
      release();
      if (outgoing.reusedSocket && hasCode(error, "ECONNRESET")) {
        resolve("stale connection");
      } else reject(explained(error, request, route));
    });
    outgoing.on("close", release);
    outgoing.on("response", (incoming) => {
      silence.stop();
      resolve(answer(incoming, request, route, options.stallMs));
    });
    outgoing.end(request.body);
  });
}

function start(
  { url, method, headers, body, untrusted }: Request,
  route: Route,
  options: TransportOptions,
) {
  const { request } = url.protocol === "https:" ? https : http;
  // Through a proxy, it is the proxy's name that would be looked up here.
  const lookup = untrusted === true && !route.proxy ? guarded(options.lookup) : options.lookup;
  return request({
    method,
    hostname: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? undefined : url.port,
    path: url.pathname + url.search,
    agent: route.agent,
    maxHeaderSize,
    ...(lookup && { lookup }),
    headers: {
      ...headers,
      "User-Agent": options.userAgent,
      // Digests are of bytes as stored; a server that compresses on the way would break them.
      "Accept-Encoding": "identity",
      ...(body !== undefined && { "Content-Length": Buffer.byteLength(body) }),
    },
  });
}

function answer(
  incoming: IncomingMessage,
  request: Request,
  route: Route,
  stallMs: number,
): Response {
  // A body that nobody listens to yet may still break; its reader finds out.
  incoming.on("error", () => {});
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    url: request.url,
    crossed: false,
    body: readBody(incoming, stallMs, (error) => explained(error, request, route)),
    discard: () => void incoming.destroy(),
  };
}

function explained(error: Error, request: Request, { proxy }: Route): Error {
  if (request.signal.aborted) return stopped(request);
  return networkError(error, { what: request.what, url: request.url, proxy });
}

function stopped(request: Request): Error {
  return interrupted(`cannot get ${request.what}`, request.signal.reason);
}
