import { Agent, request } from "node:https";
import type { IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";

export interface RawRequest {
  /** Default GET. */
  readonly method?: string;
  /** An object is sent as JSON. */
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default the admin's. */
  readonly token?: string;
  readonly signal?: AbortSignal;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body parsed; `undefined` where it is no JSON. */
  readonly json: unknown;
}

const timeLimitMilliseconds = 30_000;

/** One request after the other to an API server, with no policy at all. */
export class ApiRequests {
  readonly #url: string;
  readonly #token: string;
  readonly #ca: () => string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(url: string, token: string, ca: () => string) {
    this.#url = url;
    this.#token = token;
    this.#ca = ca;
  }

  /** @param path with its query, from `/api` or `/apis` on */
  async send(path: string, options: RawRequest = {}): Promise<RawAnswer> {
    const { body, token = this.#token, headers, method = "GET" } = options;
    const limit = AbortSignal.timeout(timeLimitMilliseconds);
    const message = request(`${this.#url}${path}`, {
      method,
      agent: this.#agent,
      ca: this.#ca(),
      signal: options.signal ? AbortSignal.any([options.signal, limit]) : limit,
      headers: {
        Authorization: `Bearer ${token}`,
        Accept: "application/json",
        ...(body !== undefined && { "Content-Type": contentType(method) }),
        ...headers,
      },
    });
    const answered = Promise.withResolvers<RawAnswer>();
    message.once("error", answered.reject);
    message.once("response", (response) => {
      text(response).then((said) => {
        const { statusCode = 0, headers: sent } = response;
        answered.resolve({ status: statusCode, headers: sent, body: said, json: parsed(said) });
      }, answered.reject);
    });
    message.end(typeof body === "object" ? JSON.stringify(body) : body);
    return answered.promise;
  }

  /** As `send`, for an answer that has to be 2xx. */
  async ask(path: string, options: RawRequest = {}): Promise<unknown> {
    const { status, body, json } = await this.send(path, options);
    if (status >= 200 && status < 300) return json;
    throw new Error(`${options.method ?? "GET"} ${path} was answered with ${status}: ${body}`);
  }

  /** The same, to another server. */
  at(url: string): ApiRequests {
    return new ApiRequests(url, this.#token, this.#ca);
  }

  /** Closes kept connections. */
  close(): void {
    this.#agent.destroy();
  }
}

function contentType(method: string): string {
  return method === "PATCH" ? "application/merge-patch+json" : "application/json";
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}
