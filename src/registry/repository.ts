import { notARegistry, readBlob } from "./blob.ts";
import { DigestCheck, digestOf, algorithmOf, isDigest } from "./digest.ts";
import type { Digest } from "./digest.ts";
import { Failure } from "./failure.ts";
import type { Content, Descriptor } from "./image.ts";
import { acceptedManifests, essence, isIndex, isManifest, isWebPage } from "./media-types.ts";
import { refusal } from "./refusal.ts";
import type { RefusalContext } from "./refusal.ts";
import type { Reference } from "./reference.ts";
import type { Root } from "./resolve.ts";
import { retrying } from "./retry.ts";
import type { RetryOptions } from "./retry.ts";
import { readSmall } from "./small-body.ts";
import type { Request, Response, Send } from "./transport.ts";

export interface RepositoryOptions {
  /** For messages: what was asked for, and where it is fetched from. */
  readonly where: string;
  /** `https://registry.example.com/v2/team/app/`. */
  readonly base: URL;
  /** With authentication and redirects. */
  readonly send: Send;
  readonly retry: RetryOptions;
  readonly refusals: RefusalContext;
}

/** One repository of a registry, as seen by one pull. */
export class Repository implements Content {
  readonly where: string;
  readonly #options: RepositoryOptions;

  constructor(options: RepositoryOptions) {
    this.where = options.where;
    this.#options = options;
  }

  /**
   * What a reference names: a manifest or an index, checked against the digest in the reference, or
   * else the one in the registry's answer.
   */
  async root({ tag, digest }: Reference, signal: AbortSignal): Promise<Root> {
    const what = `the manifest of ${this.where}`;
    const request = this.#request(`manifests/${digest ?? tag ?? "latest"}`, what, signal);
    return retrying(this.#options.retry, what, signal, async () => {
      const response = await this.#ok(request);
      const { manifestBytes } = this.#options.retry.limits;
      const bytes = await this.#whole(request, response, manifestBytes);
      if (bytes === undefined) throw tooLarge(what, manifestBytes);
      if (looksLikeMarkup(bytes)) throw notARegistry(what, response);
      const actual = check(bytes, digest ?? announced(response), what);
      const mediaType = essence(response.headers["content-type"]);
      return { bytes, descriptor: { mediaType, digest: actual, size: bytes.length } };
    });
  }

  /**
   * The digest that a reference names now, by one HEAD request; undefined where the registry does not
   * say it that way.
   */
  async head({ tag, digest }: Reference, signal: AbortSignal): Promise<Digest | undefined> {
    if (digest !== undefined) return digest;
    const what = `the manifest of ${this.where}`;
    const request = this.#request(`manifests/${tag ?? "latest"}`, what, signal);
    return retrying(this.#options.retry, what, signal, async () => {
      const response = await this.#options.send({ ...request, method: "HEAD" });
      // One that is overloaded is asked later, not in another way.
      if (isBusy(response.status)) throw await refusal(request, response, this.#options.refusals);
      // Some answer GET alone; why another request failed, an answer without a body cannot say.
      response.discard();
      return response.status === 200 ? announced(response) : undefined;
    });
  }

  async read(descriptor: Descriptor, signal: AbortSignal): Promise<Buffer> {
    const { digest, size, mediaType } = descriptor;
    const manifest = isManifest(mediaType) || isIndex(mediaType);
    const what = `the ${manifest ? "manifest" : "config"} ${digest} of ${this.where}`;
    const { retry } = this.#options;
    if (size > retry.limits.manifestBytes) throw tooLarge(what, retry.limits.manifestBytes, size);
    const request = this.#request(`${manifest ? "manifests" : "blobs"}/${digest}`, what, signal);
    return retrying(retry, what, signal, async () => {
      const response = await this.#ok(request);
      const bytes = await this.#whole(request, response, size);
      if (bytes?.length !== size) throw wrongSize(what, size, bytes?.length);
      check(bytes, digest, what);
      return bytes;
    });
  }

  open(descriptor: Descriptor, name: string, signal: AbortSignal): AsyncIterable<Buffer> {
    const request = this.#request(`blobs/${descriptor.digest}`, name, signal);
    const ask = async (offset: number): Promise<Response | "range refused"> => {
      if (offset === 0) return this.#ok(request);
      const headers = { ...request.headers, Range: `bytes=${offset}-` };
      const response = await this.#options.send({ ...request, headers });
      if (response.status === 416) {
        response.discard();
        return "range refused";
      }
      return this.#expect(request, response, [200, 206]);
    };
    return readBlob({ descriptor, what: name, signal, ask }, this.#options.retry);
  }

  #request(path: string, what: string, signal: AbortSignal): Request {
    const Accept = path.startsWith("manifests/") ? acceptedManifests.join(", ") : "*/*";
    const url = new URL(path, this.#options.base);
    return { method: "GET", url, headers: { Accept }, what, signal };
  }

  async #ok(request: Request): Promise<Response> {
    return this.#expect(request, await this.#options.send(request), [200]);
  }

  async #expect(request: Request, response: Response, statuses: readonly number[]) {
    if (statuses.includes(response.status)) return response;
    throw await refusal(request, response, this.#options.refusals);
  }

  async #whole({ what }: Request, response: Response, bytes: number): Promise<Buffer | undefined> {
    if (isWebPage(response.headers["content-type"])) throw notARegistry(what, response);
    const milliseconds = this.#options.retry.limits.smallBodyMs;
    return readSmall(response, { bytes, milliseconds }, what);
  }
}

/** @throws LarderError `digest`; without an expectation, the digest that the bytes have */
function check(bytes: Buffer, expected: Digest | undefined, what: string): Digest {
  if (expected === undefined) return digestOf(bytes);
  if (digestOf(bytes, algorithmOf(expected)) === expected) return expected;
  const difference = new DigestCheck(expected, what);
  difference.update(bytes);
  difference.verify();
  return expected;
}

function isBusy(status: number): boolean {
  return [429, 502, 503, 504].includes(status);
}

function announced(response: Response): Digest | undefined {
  const header = response.headers["docker-content-digest"];
  return isDigest(header) ? header : undefined;
}

function looksLikeMarkup(bytes: Buffer): boolean {
  return bytes.subarray(0, 64).toString("latin1").trimStart().startsWith("<");
}

function tooLarge(what: string, limit: number, size?: number): Failure {
  return new Failure("image", {
    what: `cannot use ${what}`,
    why: `it is ${size === undefined ? "larger" : `${size} bytes, which is more`} than the ${limit} bytes allowed`,
    todo: "no real image has one of this size; check what the reference names",
  });
}

function wrongSize(what: string, size: number, actual: number | undefined): Failure {
  return new Failure("digest", {
    what: `${what} is not what it claims to be`,
    why: `it is declared with ${size} bytes, and the registry has ${actual ?? "more than that"}`,
    todo: "the registry's copy is damaged or something in between changes it: push the image again, or pull it from another copy",
  });
}
