import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";

import type { Access } from "../src/kube/access.ts";
import type { KubeObject } from "../src/kube/object.ts";
import { apiVersionOf, type Resource } from "../src/kube/resource.ts";
import { bodyOf, sendJson, sendStatus } from "./api-answer.ts";
import { ApiFaults, type ApiFault, type Asked } from "./api-fault.ts";
import { ApiHistory, keyOf, type Happening, type Verdict } from "./api-history.ts";
import { selectionOf } from "./api-selection.ts";
import { ApiWatch } from "./api-watch.ts";
import { writeTo, type WritePlace } from "./api-write.ts";
import type { Certificates } from "./certificates.ts";

export interface MisbehavingApiServerOptions {
  /** The one kind that it knows. */
  readonly resource: Resource;
  /** Without: plain HTTP. */
  readonly tls?: Certificates;
  /** Default: whoever asks is answered. */
  readonly token?: string;
}

/** A request as it arrived. */
export interface Asking {
  readonly asked: Asked;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
}

/** An API server of one kind inside this process: honest, until it is told to misbehave. */
export class MisbehavingApiServer implements AsyncDisposable {
  /** Every request, in the order in which they came. */
  readonly seen: Asking[] = [];
  /** False: lists cannot be had as the beginning of a watch, and it says so. */
  streams = true;
  /** True: it does not know that they could, and takes such a watch for a usual one. */
  ignoresStreams = false;
  /** False: no bookmarks but those that end a list. */
  bookmarks = true;
  token: string | undefined;
  /** Connections that were ever made to it. */
  accepted = 0;
  readonly #resource: Resource;
  readonly #server: Server;
  readonly #scheme: string;
  readonly #ca: string | undefined;
  readonly #faults = new ApiFaults();
  readonly #sockets = new Set<Socket>();
  readonly #watches = new Set<ApiWatch>();
  readonly #snapshots = new Map<string, { objects: KubeObject[]; revision: number }>();
  #history = new ApiHistory();

  constructor({ resource, tls, token }: MisbehavingApiServerOptions) {
    this.#resource = resource;
    this.token = token;
    this.#ca = tls?.ca;
    this.#scheme = tls ? "https" : "http";
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      this.#answer(request, response).catch(() => response.destroy());
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

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("it does not listen");
    return address.port;
  }

  access(): Access {
    return {
      server: new URL(`${this.#scheme}://127.0.0.1:${this.port}`),
      tls: () => Promise.resolve(this.#ca === undefined ? {} : { ca: this.#ca }),
      authorization: () => Promise.resolve(this.token && `Bearer ${this.token}`),
    };
  }

  /** Watches that are open now. */
  get watches(): readonly ApiWatch[] {
    return [...this.#watches];
  }

  get revision(): number {
    return this.#history.revision;
  }

  count(asked: Asked): number {
    return this.seen.filter((each) => each.asked === asked).length;
  }

  /** The next so many requests of a sort get this instead. */
  misbehave(asked: Asked | "anything", fault: ApiFault, times = 1): void {
    this.#faults.add(asked, fault, times);
  }

  /** Writes as somebody else would. */
  put(object: KubeObject): Happening {
    return this.#done(this.#history.put(object, "any"));
  }

  remove(key: string): Happening {
    return this.#done(this.#history.remove(key));
  }

  /** Forgets how it came to be as it is: watches from before are 410. */
  compact(): void {
    this.#history.compact();
  }

  /** Tells every open watch where the history stands. */
  bookmark(revision = this.#history.revision): void {
    for (const watch of this.#watches) watch.bookmark(revision);
  }

  /** A cluster rebuilt from nothing: no objects, and a history that begins anew. */
  wipe(revision = 1): void {
    this.#history = new ApiHistory(revision);
  }

  /** Breaks every connection. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.cutAll();
    await once(this.#server, "close");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #done(result: Happening | Verdict): Happening {
    if (typeof result === "string") throw new Error(result);
    for (const watch of this.#watches) watch.tell(result);
    return result;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams: query } = new URL(request.url ?? "", "http://here");
    const place = this.#placeOf(pathname);
    const asked = askedFor(request.method ?? "", place?.name, query);
    const { method = "", headers } = request;
    this.seen.push({ asked, method, path: pathname, query, headers });
    const body = await bodyOf(request);
    const fault = this.#faults.take(asked);
    if (fault && lie(request, response, fault)) return;
    if (this.token !== undefined && headers.authorization !== `Bearer ${this.token}`) {
      sendStatus(response, 401, "Unauthorized", "Unauthorized");
    } else if (place === undefined) {
      response.writeHead(404, { "Content-Type": "text/plain" }).end("404 page not found\n");
    } else if (asked === "watch" || asked === "stream") {
      this.#watch(response, place.namespace, query, asked === "stream", fault);
    } else if (asked === "list") this.#list(response, place.namespace, query);
    else if (asked === "get") this.#get(response, place);
    else this.#write(response, method, place, body);
  }

  #placeOf(path: string) {
    const { group, plural } = this.#resource;
    const base = `/${group === "" ? "api" : "apis"}/${apiVersionOf(this.#resource)}`;
    const pattern = new RegExp(`^${base}(?:/namespaces/([^/]+))?/${plural}(?:/([^/]+))?$`);
    const [whole, namespace, name] = pattern.exec(path) ?? [];
    const decoded = name === undefined ? undefined : decodeURIComponent(name);
    return whole === undefined ? undefined : { namespace, name: decoded };
  }

  #list(response: ServerResponse, namespace: string | undefined, query: URLSearchParams): void {
    const [id, from = "0"] = (query.get("continue") ?? "").split(":");
    const known = id ? this.#snapshots.get(id) : undefined;
    if (id && known === undefined) {
      sendStatus(response, 410, "Expired", "The provided continue parameter is too old.");
      return;
    }
    const snapshot = known ?? {
      objects: this.#history.all().filter(selectionOf(namespace, query)),
      revision: this.#history.revision,
    };
    const limit = Number(query.get("limit") ?? snapshot.objects.length);
    const end = Number(from) + limit;
    const key = id || String(this.#snapshots.size + 1);
    this.#snapshots.set(key, snapshot);
    const more = end < snapshot.objects.length;
    sendJson(response, 200, {
      kind: `${this.#resource.kind}List`,
      apiVersion: apiVersionOf(this.#resource),
      metadata: {
        resourceVersion: String(snapshot.revision),
        ...(more && { continue: `${key}:${end}` }),
      },
      items: snapshot.objects.slice(Number(from), end),
    });
  }

  /** Those who went through a list by half have to begin anew. */
  expireLists(): void {
    this.#snapshots.clear();
  }

  #watch(
    response: ServerResponse,
    namespace: string | undefined,
    query: URLSearchParams,
    stream: boolean,
    fault: ApiFault | undefined,
  ): void {
    if (stream && !this.streams) {
      const why = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch";
      sendStatus(response, 422, "Invalid", why);
      return;
    }
    const watch = new ApiWatch(
      response,
      selectionOf(namespace, query),
      (object) => this.#typed(object),
      (closed) => this.#watches.delete(closed),
    );
    this.#watches.add(watch);
    if (fault?.kind === "silent") watch.mute();
    if (fault?.kind === "end" || fault?.kind === "cut") watch.limit(fault.after, fault.kind);
    if (fault?.kind === "error event") watch.error(fault.status, fault.reason);
    this.#begin(watch, query.get("resourceVersion"), stream && !this.ignoresStreams);
    const seconds = Number(query.get("timeoutSeconds") ?? 1800);
    const timer = setTimeout(() => {
      if (this.bookmarks) watch.bookmark(this.#history.revision);
      watch.end();
    }, seconds * 1000);
    response.once("close", () => {
      clearTimeout(timer);
    });
  }

  #begin(watch: ApiWatch, from: string | null, stream: boolean): void {
    if (from === null) {
      for (const object of this.#history.all()) watch.initial(object);
      if (stream) watch.bookmark(this.#history.revision, true);
      return;
    }
    const missed = this.#history.since(Number(from));
    if (missed === undefined) {
      watch.error(410, "Expired");
      watch.end();
    } else for (const happening of missed) watch.tell(happening);
  }

  #get(response: ServerResponse, { namespace, name = "" }: WritePlace): void {
    const object = this.#history.get(keyOf({ ...(namespace && { namespace }), name }));
    if (object) sendJson(response, 200, this.#typed(object));
    else this.#refuse(response, "missing", name);
  }

  #write(response: ServerResponse, method: string, place: WritePlace, body: unknown): void {
    const result = writeTo(this.#history, method, place, body);
    if (typeof result === "string") {
      this.#refuse(response, result, place.name ?? "");
      return;
    }
    this.#done(result);
    const object = result.now ?? result.before;
    sendJson(response, method === "POST" ? 201 : 200, object && this.#typed(object));
  }

  #refuse(response: ServerResponse, verdict: Verdict, name: string): void {
    const [status, reason] = verdicts[verdict];
    sendStatus(response, status, reason, `${this.#resource.plural} "${name}": ${reason}`);
  }

  #typed(object: KubeObject): KubeObject {
    return { ...object, apiVersion: apiVersionOf(this.#resource), kind: this.#resource.kind };
  }
}

/** Starts one on a free port. */
export async function startMisbehavingApiServer(
  options: MisbehavingApiServerOptions,
): Promise<MisbehavingApiServer> {
  const server = new MisbehavingApiServer(options);
  await server.listen();
  return server;
}

const verdicts = {
  exists: [409, "AlreadyExists"],
  missing: [404, "NotFound"],
  conflict: [409, "Conflict"],
} as const satisfies Record<Verdict, readonly [number, string]>;

function askedFor(method: string, name: string | undefined, query: URLSearchParams): Asked {
  if (method !== "GET") return "write";
  if (name !== undefined) return "get";
  if (query.get("watch") !== "true") return "list";
  return query.get("sendInitialEvents") === "true" ? "stream" : "watch";
}

/** Whether this fault takes the place of an answer. */
function lie(request: IncomingMessage, response: ServerResponse, fault: ApiFault): boolean {
  if (fault.kind === "answer") {
    const { status, reason = "", message = reason, headers = {}, body } = fault;
    if (body === undefined) sendStatus(response, status, reason, message, headers);
    else response.writeHead(status, headers).end(body);
    return true;
  }
  if (fault.kind === "drop") request.socket.destroy();
  return fault.kind === "drop" || fault.kind === "hang";
}
