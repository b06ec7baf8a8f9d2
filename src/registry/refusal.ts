import type { ErrorCode } from "../errors.ts";
import type { Clock } from "./clock.ts";
import { Failure } from "./failure.ts";
import { asObject, member, parseObject, text } from "./json.ts";
import type { Limits } from "./limits.ts";
import { isWebPage } from "./media-types.ts";
import { http } from "./node-http.ts";
import { retryAfter } from "./retry-after.ts";
import type { Secrets } from "./secrets.ts";
import { shownUrl } from "./shown-url.ts";
import { readSmall } from "./small-body.ts";
import type { Request, Response } from "./transport.ts";

export interface RefusalContext {
  readonly secrets: Secrets;
  readonly limits: Limits;
  readonly clock: Clock;
}

/** The failure that an answer other than 2xx stands for; reads and releases its body. */
export async function refusal(
  request: Request,
  response: Response,
  context: RefusalContext,
): Promise<Failure> {
  const said = await serverWords(request, response, context);
  const { status } = response;
  return new Failure(codeOf(status), {
    what: `cannot get ${request.what}`,
    why: `${shownUrl(response.url)} answered ${statusText(status)}${said === "" ? "" : `, saying "${said}"`}`,
    todo: remedy(response),
    retryable: isPassing(status),
    retryAfterMs: retryAfter(response.headers["retry-after"], context.clock.date()),
  });
}

/** Statuses after which the same request may succeed. */
function isPassing(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

function codeOf(status: number): ErrorCode {
  if (status === 401 || status === 403) return "auth";
  return status === 404 ? "not-found" : "registry";
}

/** Node's words and not the server's, which could say anything. */
export function statusText(status: number): string {
  const words = http.STATUS_CODES[status];
  return words === undefined ? `${status}` : `${status} ${words}`;
}

function remedy({ status, headers, signedIn }: Response): string {
  if (isWebPage(headers["content-type"])) {
    return "it is a web page, so check that the host and port are those of a registry";
  }
  switch (status) {
    case 401:
    case 403:
      return signedIn === true
        ? "check that the credentials for it are right and may pull from this repository"
        : "it was asked without credentials: if it wants some, `docker login` makes them, and --registry-config names the file that has them";
    case 404:
      return "check the spelling of repository and tag, and that it was pushed; some registries say this for lack of credentials too";
    case 429:
      return "wait, or use credentials with a higher limit";
    default:
      return status >= 500
        ? "look at the registry's own log, and run this again once it is well"
        : "look at the registry's own log for this request";
  }
}

/** The remedy where a registry wants credentials and there are none. */
export const noCredentials =
  "no credentials for it were found: `docker login` makes some, and --registry-config names the file that has them";

const longestWords = 300;

/**
 * What the registry says went wrong: `code: message` of the distribution spec's errors. Other hosts
 * behind a redirect echo signed URLs in formats of their own, so they are not quoted.
 */
async function serverWords(
  request: Request,
  response: Response,
  { secrets, limits }: RefusalContext,
): Promise<string> {
  const bound = { bytes: limits.errorBytes, milliseconds: limits.smallBodyMs };
  let bytes: Buffer | undefined;
  try {
    bytes = await readSmall(response, bound, request.what);
  } catch (error) {
    // The status said it all; only an interruption matters more.
    if (request.signal.aborted) throw error;
  }
  if (bytes === undefined || response.crossed) return "";
  const errors = member(parseObject(bytes) ?? {}, "errors");
  const first = Array.isArray(errors) ? asObject(errors[0]) : undefined;
  if (first === undefined) return "";
  const words = [text(first, "code"), text(first, "message")].filter((each) => each !== undefined);
  const scrubbed = secrets.scrub(words.join(": "));
  return scrubbed.length > longestWords ? `${scrubbed.slice(0, longestWords)}...` : scrubbed;
}
