import type { Agent as HttpAgent } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import { createSecureContext } from "node:tls";

import { http, https } from "../registry/node-http.ts";
import type { Access, TlsOptions } from "./access.ts";

/** A watch holds a connection of its own; beside it, requests come one or two at a time. */
const keptFree = 2;
/** First probe of a silent connection by the system, ms. */
const keepAliveMsecs = 30_000;

/** The kept-open connections to one API server. */
export class Connections {
  readonly #access: Access;
  #agent: HttpAgent | HttpsAgent | undefined;
  #tls: TlsOptions | undefined;

  constructor(access: Access) {
    this.#access = access;
  }

  /**
   * The pool for the next request. Where CA or client certificate changed, it is a new one; requests
   * under way in the old one run to their end.
   *
   * @throws what the access throws, or LarderError where a certificate cannot be used
   */
  async agent(): Promise<HttpAgent | HttpsAgent> {
    const { server, proxy } = this.#access;
    const tls = server.protocol === "https:" ? await this.#access.tls() : undefined;
    if (this.#agent === undefined || !same(this.#tls, tls)) {
      this.closeIdle();
      this.#agent = tls === undefined ? plain(proxy) : secure(tls, proxy);
      this.#tls = tls;
    }
    return this.#agent;
  }

  /** Gives up what is not in use: one connection failed, and the others may lead to the same place. */
  closeIdle(): void {
    const sockets = Object.values(this.#agent?.freeSockets ?? {}).flat();
    for (const socket of sockets) socket?.destroy();
  }

  /** Closes every connection, those in use included. */
  close(): void {
    this.#agent?.destroy();
    this.#agent = undefined;
  }
}

function same(one: TlsOptions | undefined, other: TlsOptions | undefined): boolean {
  return (
    one?.ca === other?.ca &&
    one?.cert === other?.cert &&
    one?.key === other?.key &&
    one?.servername === other?.servername &&
    one?.rejectUnauthorized === other?.rejectUnauthorized
  );
}

const common = { keepAlive: true, keepAliveMsecs, maxFreeSockets: keptFree };

function plain(proxy: URL | undefined): HttpAgent {
  return new http.Agent({ ...common, ...(proxy && { proxyEnv: { HTTP_PROXY: proxy.href } }) });
}

function secure(tls: TlsOptions, proxy: URL | undefined): HttpsAgent {
  const { ca, cert, key, servername, rejectUnauthorized } = tls;
  return new https.Agent({
    ...common,
    // Made once: parsing certificates for each connection costs milliseconds and memory.
    secureContext: createSecureContext({ ...(ca && { ca }), ...(cert && key && { cert, key }) }),
    // A resumed session is not checked against the CA of today.
    maxCachedSessions: 0,
    ...(servername !== undefined && { servername }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
    ...(proxy && { proxyEnv: { HTTPS_PROXY: proxy.href } }),
  });
}
