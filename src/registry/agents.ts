import type { Agent as HttpAgent } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import { createSecureContext } from "node:tls";

import { http, https } from "./node-http.ts";
import { proxyFor } from "./proxy.ts";
import type { TrustStore } from "./trust.ts";

export interface AgentOptions {
  readonly trust: TrustStore;
  readonly environment: NodeJS.ProcessEnv;
  /** Whether the certificate of this URL's host need not be valid. */
  readonly insecure: (url: URL) => boolean;
}

/** How to get to a URL. */
export interface Route {
  readonly agent: HttpAgent | HttpsAgent;
  readonly proxy: URL | undefined;
}

/** Connections that are kept open, a pool for each way of connecting. */
export class Agents {
  readonly #options: AgentOptions;
  readonly #agents = new Map<string, HttpAgent | HttpsAgent>();
  #trusted = "";

  constructor(options: AgentOptions) {
    this.#options = options;
  }

  /** @throws LarderError when the CA file or the proxy variable is malformed */
  async route(url: URL): Promise<Route> {
    const proxy = proxyFor(url, this.#options.environment);
    if (url.protocol !== "https:") {
      return { proxy, agent: this.#get(`http ${proxy?.href}`, () => plain(proxy)) };
    }
    if (this.#options.insecure(url)) {
      return { proxy, agent: this.#get(`insecure ${proxy?.href}`, () => unverified(proxy)) };
    }
    const { ca, version } = await this.#options.trust.certificates();
    if (version !== this.#trusted) this.#retire();
    this.#trusted = version;
    return { proxy, agent: this.#get(`https ${proxy?.href}`, () => verified(proxy, ca)) };
  }

  /** Closes every connection, those in use included. */
  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }

  #get(key: string, make: () => HttpAgent | HttpsAgent): HttpAgent | HttpsAgent {
    const agent = this.#agents.get(key) ?? make();
    this.#agents.set(key, agent);
    return agent;
  }

  /** Forgets the pools that trust certificates of yesterday; what is under way runs to its end. */
  #retire(): void {
    for (const [key, agent] of this.#agents) {
      if (!key.startsWith("https ")) continue;
      for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
      this.#agents.delete(key);
    }
  }
}

function plain(proxy: URL | undefined): HttpAgent {
  return new http.Agent({
    keepAlive: true,
    ...(proxy && { proxyEnv: { HTTP_PROXY: proxy.href } }),
  });
}

function verified(proxy: URL | undefined, ca: string[] | undefined): HttpsAgent {
  return new https.Agent({
    keepAlive: true,
    // Made once: parsing a bundle of CAs for each connection costs milliseconds.
    ...(ca && { secureContext: createSecureContext({ ca }) }),
    ...(proxy && { proxyEnv: { HTTPS_PROXY: proxy.href } }),
  });
}

function unverified(proxy: URL | undefined): HttpsAgent {
  return new https.Agent({
    keepAlive: true,
    rejectUnauthorized: false,
    ...(proxy && { proxyEnv: { HTTPS_PROXY: proxy.href } }),
  });
}
