import { Failure } from "./failure.ts";
import type { Descriptor } from "./image.ts";
import { isWebPage } from "./media-types.ts";
import { Budget } from "./retry.ts";
import type { RetryOptions } from "./retry.ts";
import { shownUrl } from "./shown-url.ts";
import type { Response } from "./transport.ts";

export interface BlobRequest {
  readonly descriptor: Descriptor;
  /** For messages: `layer 2 of 3 of registry.example.com/app:1`. */
  readonly what: string;
  readonly signal: AbortSignal;
  /**
   * Asks for the blob's bytes from an offset on; the answer is a 200 from the start or a 206.
   * @throws Failure for every other answer than these and a 416
   */
  ask(offset: number): Promise<Response | "range refused">;
}

/**
 * A blob as one continuous stream over as many requests as it takes: a connection that drops is resumed
 * at the byte reached. Not verified beyond its size.
 * @throws Failure; `digest` where the registry has another number of bytes than declared
 */
export async function* readBlob(
  request: BlobRequest,
  retry: RetryOptions,
): AsyncGenerator<Buffer, void, void> {
  const { size } = request.descriptor;
  const budget = new Budget(retry, request.what);
  let offset = 0;
  // Off once the registry answered a range with something else than that range.
  let ranges = true;
  while (offset < size) {
    try {
      const response = await request.ask(ranges ? offset : 0);
      const start = response === "range refused" ? undefined : startOf(response, request);
      if (response === "range refused" || start === undefined || start > offset) {
        ranges = false;
        if (response !== "range refused") response.discard();
        throw wrongRange(request, offset);
      }
      let position = start;
      for await (const chunk of response.body) {
        const fresh = offset - position;
        position += chunk.length;
        if (position > size) throw wrongSize(request, response, `more than that`);
        if (position > offset) {
          offset = position;
          yield fresh === 0 ? chunk : chunk.subarray(fresh);
          // Afterwards, so that a slow reader's time is not the registry's.
          budget.progressed();
        } else budget.alive();
      }
      if (offset < size) throw wrongSize(request, response, `${position}`, true);
    } catch (error) {
      // Every byte is here; how the connection ended does not matter.
      if (offset === size && error instanceof Failure && error.retryable) return;
      await budget.spend(error, request.signal);
    }
  }
}

/**
 * The byte of the blob that an answer starts with; undefined where it does not say.
 * @throws Failure when the answer shows already that it is not the blob that was declared
 */
function startOf(response: Response, request: BlobRequest): number | undefined {
  const { size } = request.descriptor;
  const length = wholeNumber(response.headers["content-length"]);
  if (isWebPage(response.headers["content-type"]) && length !== size) {
    throw notARegistry(request.what, response);
  }
  if (response.status !== 206) {
    if (length !== undefined && length !== size) throw wrongSize(request, response, `${length}`);
    return 0;
  }
  const range = /^bytes (\d{1,15})-\d{1,15}\/(\d{1,15}|\*)$/.exec(
    response.headers["content-range"] ?? "",
  );
  const total = wholeNumber(range?.[2]);
  if (total !== undefined && total !== size) throw wrongSize(request, response, `${total}`);
  return wholeNumber(range?.[1]);
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function wrongSize(
  { descriptor, what }: BlobRequest,
  response: Response,
  actual: string,
  retryable = false,
): Failure {
  response.discard();
  return new Failure("digest", {
    what: `cannot get ${what} from ${shownUrl(response.url)}`,
    why: `the manifest declares ${descriptor.size} bytes, and the registry has ${actual} for ${descriptor.digest}`,
    todo: "the registry's copy is damaged or something in between changes it: push the image again, or pull it from another copy",
    retryable,
  });
}

function wrongRange({ what, descriptor }: BlobRequest, offset: number): Failure {
  return new Failure("registry", {
    what: `cannot resume ${what}`,
    why: `the registry does not give the bytes from ${offset} to ${descriptor.size} when asked for them`,
    todo: "check what stands between this machine and the registry, then run this again",
    retryable: true,
  });
}

/** The refusal of a web page where a registry's answer should be: a login page, or the wrong port. */
export function notARegistry(what: string, response: Response): Failure {
  response.discard();
  return new Failure("registry", {
    what: `cannot get ${what}`,
    why: `${shownUrl(response.url)} is not a registry: it answered with a web page`,
    todo: "check the host and port, and whether a proxy or a login page stands in between",
  });
}
