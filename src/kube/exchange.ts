import type { Agent as HttpAgent, IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Agent as HttpsAgent } from "node:https";

import { hasCode } from "../errors.ts";
import { readBody } from "../registry/body.ts";
import { http, https } from "../registry/node-http.ts";
import { afterSilence } from "../registry/silence.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** One HTTP request to an API server. */
export interface Outgoing {
  readonly method: Method;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Milliseconds until the headers of the answer have to be there. */
  readonly headersMs: number;
  readonly signal: AbortSignal;
}

/** The answer. Its body is read to the end, or discarded; otherwise it leaks. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /**
   * Can be iterated once; ending early closes the connection. What comes before a break is handed on.
   *
   * @param silenceMs milliseconds without a byte after which the connection counts as dead
   */
  body(silenceMs: number): AsyncIterable<Buffer>;
  discard(): void;
}

/**
 * One HTTP exchange, without policy.
 *
 * @returns `stale connection` where a kept-open one had been closed and the request can be sent again
 * without harm
 * @throws the connection's own error, a `Stall`, or the signal's reason
 */
export function exchange(
  outgoing: Outgoing,
  agent: HttpAgent | HttpsAgent,
): Promise<Answer | "stale connection"> {
  return new Promise((resolve, reject) => {
    const { signal, headersMs } = outgoing;
    if (signal.aborted) {
      reject(asError(signal.reason));
      return;
    }
    const request = start(outgoing, agent);
    const silence = afterSilence(headersMs, (stall) => void request.destroy(stall));
    const abort = (): void => {
      request.destroy(asError(signal.reason));
    };
    const release = (): void => {
      silence.stop();
      signal.removeEventListener("abort", abort);
    };
    signal.addEventListener("abort", abort, { once: true });
    request.on("error", (error) => {
      release();
      const stale = request.reusedSocket && hasCode(error, "ECONNRESET", "EPIPE");
      if (stale && isRepeatable(outgoing.method)) resolve("stale connection");
      else reject(error);
    });
    request.on("close", release);
    request.on("response", (incoming) => {
      silence.stop();
      resolve(answerOf(incoming));
    });
    request.end(outgoing.body);
  });
}

/** A create that was sent twice would be refused by itself: its sender finds out what became of it. */
function isRepeatable(method: Method): boolean {
  return method === "GET" || method === "PATCH";
}

function start({ method, url, headers, body }: Outgoing, agent: HttpAgent | HttpsAgent) {
  const request = url.protocol === "https:" ? https.request : http.request;
  return request({
    method,
    hostname: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? undefined : url.port,
    path: url.pathname + url.search,
    agent,
    headers: {
      ...headers,
      Accept: "application/json",
      "Accept-Encoding": "identity",
      ...(body !== undefined && { "Content-Length": Buffer.byteLength(body) }),
    },
  });
}

function answerOf(incoming: IncomingMessage): Answer {
  // A body that nobody listens to yet may still break; its reader finds out.
  incoming.on("error", () => {});
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    body: (silenceMs) => readBody(incoming, silenceMs, (error) => error),
    discard: () => void incoming.destroy(),
  };
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error("aborted", { cause: reason });
}
