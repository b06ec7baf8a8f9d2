import { interrupted, LarderError } from "../errors.ts";
import type { Clock } from "../registry/clock.ts";
import { untilAborted } from "../registry/until-aborted.ts";
import type { Access, TlsOptions } from "./access.ts";
import { Connections } from "./connections.ts";
import { exchange, type Answer, type Method } from "./exchange.ts";
import { refusal } from "./refusal.ts";
import { unreachable } from "./unreachable.ts";
import { readWhole, type Bound } from "./whole-body.ts";

export interface RequesterOptions {
  readonly access: Access;
  /** `larder-agent/1.2.3`: also who a write is noted down as, where it names no manager. */
  readonly userAgent: string;
  /** Milliseconds until an answer's headers have to be there, and until a small body has. */
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, "monotonic" | "date">;
  /** True: an API server answered and is well. False: none did, or with 429 or 5xx. */
  readonly onContact: (ok: boolean) => void;
}

/** A request as the verbs of the client make it. */
export interface Question {
  readonly method: Method;
  /** With the query. */
  readonly path: string;
  readonly body?: { readonly type: string; readonly text: string };
  /** `patch nodes/worker-1`, for messages. */
  readonly what: string;
  readonly signal: AbortSignal;
}

const largestError = 1024 * 1024;

/** Asks one API server: the right address, connection and credentials; every failure in words. */
export class Requester {
  readonly #options: RequesterOptions;
  readonly #connections: Connections;

  constructor(options: RequesterOptions) {
    this.#options = options;
    this.#connections = new Connections(options.access);
  }

  /**
   * The whole body of a successful answer.
   *
   * @throws ApiError; LarderError `interrupted`, or what the access throws
   */
  async ask(question: Question, bound: Bound): Promise<Buffer> {
    const answer = await this.open(question);
    try {
      return await readWhole(answer, bound);
    } catch (error) {
      throw await this.explain(error, question);
    }
  }

  /**
   * A successful answer, its body still to be read.
   *
   * @throws as `ask`
   */
  async open(question: Question): Promise<Answer> {
    let authorization = await this.#authorization(question);
    let answer = await this.#send(question, authorization);
    if (answer.status === 401) {
      // A token that was replaced while nobody asked; the new one deserves a try.
      answer.discard();
      authorization = await this.#authorization(question, true);
      answer = await this.#send(question, authorization);
    }
    const { status } = answer;
    this.#options.onContact(status !== 429 && status < 500);
    if (status >= 200 && status < 300) return answer;
    throw await this.#refusal(question, answer, authorization);
  }

  /** A broken body, or a stop, as the error to throw. */
  async explain(error: unknown, { what, signal }: Pick<Question, "what" | "signal">) {
    if (signal.aborted) return interrupted(`cannot ${what}`, signal.reason);
    if (error instanceof LarderError) return error;
    this.#options.onContact(false);
    this.#connections.closeIdle();
    const { server, proxy } = this.#options.access;
    const caSource = await this.#caSource();
    return unreachable(asError(error), { what, server, proxy, caSource });
  }

  close(): void {
    this.#connections.close();
  }

  async #send(question: Question, authorization: string | undefined): Promise<Answer> {
    const { access, userAgent, timeoutMs } = this.#options;
    const { method, path, body, what, signal } = question;
    try {
      for (;;) {
        const agent = await untilAborted(this.#connections.agent(), what, signal);
        const outgoing = {
          method,
          url: urlOf(access.server, path),
          headers: {
            ...access.headers,
            "User-Agent": userAgent,
            ...(authorization !== undefined && { Authorization: authorization }),
            ...(body !== undefined && { "Content-Type": body.type }),
          },
          body: body?.text,
          headersMs: timeoutMs,
          signal,
        };
        const answer = await exchange(outgoing, agent);
        if (answer !== "stale connection") return answer;
      }
    } catch (error) {
      throw await this.explain(error, question);
    }
  }

  async #refusal(question: Question, answer: Answer, authorization: string | undefined) {
    const bound = { bytes: largestError, milliseconds: this.#options.timeoutMs };
    let body = Buffer.alloc(0);
    try {
      body = Buffer.from(await readWhole(answer, bound));
    } catch (error) {
      // The status said it all; only a stop matters more.
      if (question.signal.aborted) return this.explain(error, question);
    }
    return refusal({
      what: question.what,
      status: answer.status,
      body,
      retryAfter: answer.headers["retry-after"],
      authorization,
      now: this.#options.clock.date(),
    });
  }

  async #authorization(question: Question, refused = false): Promise<string | undefined> {
    const { what, signal } = question;
    try {
      return await untilAborted(this.#options.access.authorization(refused), what, signal);
    } catch (error) {
      throw await this.explain(error, question);
    }
  }

  async #caSource(): Promise<string | undefined> {
    try {
      const tls: TlsOptions = await this.#options.access.tls();
      return tls.ca === undefined ? undefined : (tls.caSource ?? "the CA that was given");
    } catch {
      return undefined;
    }
  }
}

/** A server's URL may have a path of its own, as behind a gateway. */
function urlOf(server: URL, path: string): URL {
  const base = server.pathname.replace(/\/+$/, "");
  return new URL(base + path, server);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error("it failed", { cause: error });
}
