import { systemClock, type Clock } from "../registry/clock.ts";
import { asObject, member, parseObject, text, type JsonObject } from "../registry/json.ts";
import type { Access } from "./access.ts";
import { ApiError, hasStatus } from "./api-error.ts";
import type {
  ApplyOptions,
  Call,
  CallInNamespace,
  DeleteOptions,
  ListOptions,
  Page,
  WatchOptions,
} from "./call.ts";
import type { Method } from "./exchange.ts";
import { asKubeObject, type KubeObject } from "./object.ts";
import { Requester } from "./requester.ts";
import { apiVersionOf, pathOf, shownPlace, type Resource } from "./resource.ts";
import { queryOf } from "./selection.ts";
import type { WatchEvent } from "./watch-event.ts";
import { watchStream } from "./watch-stream.ts";

export type { WatchEvent } from "./watch-event.ts";

export interface ClientOptions {
  readonly access: Access;
  /** `larder-agent/1.2.3`. */
  readonly userAgent: string;
  /** Milliseconds for one request, headers and body; pages of lists may take six times as long. Default 10 s. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  /** True: an API server answered and is well. False: none did, or with 429 or 5xx. */
  readonly onContact?: (ok: boolean) => void;
}

const pageSize = 500;
const largestObject = 16 * 1024 * 1024;
const largestPage = 64 * 1024 * 1024;

/**
 * What an API server can be asked, one request a call. It knows JSON and metadata, nothing of any
 * kind's fields. Every method throws ApiError (`api`), or LarderError `interrupted` when its signal
 * aborts. Nothing is tried again here.
 */
export class Client {
  readonly #requester: Requester;
  readonly #timeoutMs: number;

  constructor({ access, userAgent, timeoutMs = 10_000, clock, onContact }: ClientOptions) {
    this.#timeoutMs = timeoutMs;
    this.#requester = new Requester({
      access,
      userAgent,
      timeoutMs,
      clock: clock ?? systemClock,
      onContact: onContact ?? (() => {}),
    });
  }

  /** @returns undefined where there is no such object */
  async get(
    resource: Resource,
    name: string,
    { namespace, signal }: CallInNamespace,
  ): Promise<KubeObject | undefined> {
    const place = { namespace, name };
    const what = `get ${shownPlace(resource, place)}`;
    try {
      return await this.#one("GET", resource, place, { what, signal });
    } catch (error) {
      // A path that the server does not know at all (no such CRD) has no Status of this reason.
      if (hasStatus(error, 404) && error.reason === "NotFound") return undefined;
      throw error;
    }
  }

  /** All objects of a selection, in memory. */
  async list(
    resource: Resource,
    options: ListOptions,
  ): Promise<{ items: KubeObject[]; resourceVersion: string }> {
    const items: KubeObject[] = [];
    let resourceVersion = "";
    for await (const page of this.pages(resource, options)) {
      items.push(...page.items);
      ({ resourceVersion } = page);
    }
    return { items, resourceVersion };
  }

  /** A list in pages of 500, for who keeps little of each object. All pages are of one moment. */
  async *pages(
    resource: Resource,
    { namespace, labelSelector, fieldSelector, signal }: ListOptions,
  ): AsyncGenerator<Page> {
    const what = `list ${shownPlace(resource, { namespace })}`;
    const bound = { bytes: largestPage, milliseconds: 6 * this.#timeoutMs };
    let next: string | undefined;
    do {
      const query = queryOf({ labelSelector, fieldSelector, limit: pageSize, continue: next });
      const path = pathOf(resource, { namespace }) + query;
      const body = await this.#requester.ask({ method: "GET", path, what, signal }, bound);
      const list = parseObject(body) ?? {};
      const metadata = asObject(member(list, "metadata")) ?? {};
      yield {
        items: itemsOf(list, what),
        resourceVersion: text(metadata, "resourceVersion") ?? "",
      };
      const after = text(metadata, "continue");
      if (after !== undefined && after === next) throw malformed(what, "the same page twice");
      next = after;
    } while (next !== undefined);
  }

  /**
   * One watch, until the server ends it: by its time, or for whatever reason. Bookmarks are asked for.
   *
   * @throws ApiError also for an ERROR event, a cut connection and silence
   */
  async *watch(resource: Resource, options: WatchOptions): AsyncGenerator<WatchEvent> {
    const { namespace, labelSelector, fieldSelector, resourceVersion, signal } = options;
    const { sendInitialEvents = false, timeoutSeconds, silenceMs = 300_000, onBytes } = options;
    const what = `watch ${shownPlace(resource, { namespace })}`;
    const query = queryOf({
      watch: true,
      allowWatchBookmarks: true,
      labelSelector,
      fieldSelector,
      resourceVersion,
      timeoutSeconds,
      ...(sendInitialEvents && { sendInitialEvents, resourceVersionMatch: "NotOlderThan" }),
    });
    const path = pathOf(resource, { namespace }) + query;
    const answer = await this.#requester.open({ method: "GET", path, what, signal });
    options.onOpen?.();
    try {
      yield* watchStream(answer, { what, silenceMs, onBytes });
    } catch (error) {
      throw await this.#requester.explain(error, { what, signal });
    } finally {
      answer.discard();
    }
  }

  /** @throws ApiError 409 `AlreadyExists` */
  async create(resource: Resource, object: KubeObject, { signal }: Call): Promise<KubeObject> {
    const { namespace, name } = object.metadata;
    const what = `create ${shownPlace(resource, { namespace, name })}`;
    const body = json("application/json", typed(resource, object));
    return this.#one("POST", resource, { namespace }, { what, body, signal });
  }

  /** Replaces an object; where it names a resourceVersion, only that one (else 409 `Conflict`). */
  async update(resource: Resource, object: KubeObject, { signal }: Call): Promise<KubeObject> {
    const { namespace, name } = object.metadata;
    const what = `update ${shownPlace(resource, { namespace, name })}`;
    const body = json("application/json", typed(resource, object));
    return this.#one("PUT", resource, { namespace, name }, { what, body, signal });
  }

  /** Server-side apply: the fields that are given, and no others, are the manager's. */
  async apply(
    resource: Resource,
    object: KubeObject,
    { manager, force, signal }: ApplyOptions,
  ): Promise<KubeObject> {
    const { namespace, name } = object.metadata;
    const what = `apply ${shownPlace(resource, { namespace, name })}`;
    const query = queryOf({ fieldManager: manager, force });
    const body = json("application/apply-patch+yaml", typed(resource, object));
    return this.#one("PATCH", resource, { namespace, name }, { what, query, body, signal });
  }

  /** JSON merge patch (RFC 7396): null removes a member. */
  async patch(
    resource: Resource,
    name: string,
    mergePatch: Readonly<Record<string, unknown>>,
    { namespace, signal }: CallInNamespace,
  ): Promise<KubeObject> {
    const what = `patch ${shownPlace(resource, { namespace, name })}`;
    const body = json("application/merge-patch+json", mergePatch);
    return this.#one("PATCH", resource, { namespace, name }, { what, body, signal });
  }

  /** @throws ApiError 404 where it is gone already, 409 where it is another one */
  async delete(
    resource: Resource,
    name: string,
    { namespace, uid, resourceVersion, signal }: DeleteOptions,
  ): Promise<void> {
    const what = `delete ${shownPlace(resource, { namespace, name })}`;
    const preconditions = {
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    };
    const options = { apiVersion: "v1", kind: "DeleteOptions", preconditions };
    const path = pathOf(resource, { namespace, name });
    const body = json("application/json", options);
    await this.#requester.ask({ method: "DELETE", path, what, body, signal }, this.#bound());
  }

  /** Closes every connection; what is under way fails. */
  close(): void {
    this.#requester.close();
  }

  async #one(
    method: Method,
    resource: Resource,
    place: { readonly namespace?: string | undefined; readonly name?: string },
    rest: { what: string; query?: string; body?: Body; signal: AbortSignal },
  ): Promise<KubeObject> {
    const { what, query = "", body, signal } = rest;
    const path = pathOf(resource, place) + query;
    const question = { method, path, what, signal, ...(body && { body }) };
    const answer = await this.#requester.ask(question, this.#bound());
    const object = asKubeObject(parseObject(answer));
    if (object === undefined) throw malformed(what, "something that is no object");
    return object;
  }

  #bound() {
    return { bytes: largestObject, milliseconds: this.#timeoutMs };
  }
}

interface Body {
  readonly type: string;
  readonly text: string;
}

function json(type: string, content: object): Body {
  return { type, text: JSON.stringify(content) };
}

function typed(resource: Resource, object: KubeObject): KubeObject {
  return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind };
}

function itemsOf(list: JsonObject, what: string): KubeObject[] {
  const items = member(list, "items") ?? undefined;
  if (!Array.isArray(items)) throw malformed(what, "something that is no list");
  return items.map((item: unknown) => {
    const object = asKubeObject(item);
    if (object === undefined) throw malformed(what, "an item without a name");
    return object;
  });
}

function malformed(what: string, why: string): ApiError {
  return new ApiError({
    status: 0,
    what: `cannot ${what}`,
    why: `the API server sent ${why}`,
    todo: "check that what answers there is an API server, and what stands between",
    retryable: true,
  });
}
