import type { JsonObject } from "../registry/json.ts";
import { member, parseObject, text } from "../registry/json.ts";
import { statusText } from "../registry/refusal.ts";
import { retryAfter } from "../registry/retry-after.ts";
import { Secrets } from "../registry/secrets.ts";
import { ApiError } from "./api-error.ts";

/** An answer that is no success. */
export interface Refused {
  /** `patch nodes/worker-1`. */
  readonly what: string;
  readonly status: number;
  readonly body: Buffer;
  /** The header. */
  readonly retryAfter: string | undefined;
  /** The Authorization header that was sent: it must never be shown, even where a server echoes it. */
  readonly authorization: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The error that an answer other than 2xx stands for. */
export function refusal(refused: Refused): ApiError {
  const said = parseObject(refused.body) ?? {};
  return statusError(said, refused.what, {
    status: refused.status,
    retryAfterMs: retryAfter(refused.retryAfter, refused.now),
    authorization: refused.authorization,
  });
}

/**
 * The error that a Status object stands for, of an answer or of an ERROR event of a watch.
 *
 * @param what `watch nodes`
 */
export function statusError(
  said: JsonObject,
  what: string,
  known: {
    readonly status?: number;
    readonly retryAfterMs?: number | undefined;
    readonly authorization?: string | undefined;
  } = {},
): ApiError {
  const status = known.status ?? codeIn(said);
  const reason = text(said, "reason");
  const words = shown(text(said, "message") ?? "", known.authorization);
  return new ApiError({
    status,
    reason,
    what: `cannot ${what}`,
    why: `the API server answered ${statusText(status)}${words === "" ? "" : `, saying "${words}"`}`,
    todo: remedy(status, words),
    retryable: isPassing(status),
    retryAfterMs: known.retryAfterMs ?? secondsIn(said),
  });
}

function codeIn(said: JsonObject): number {
  const code = member(said, "code");
  return typeof code === "number" && Number.isInteger(code) ? code : 500;
}

function secondsIn(said: JsonObject): number | undefined {
  const details = member(said, "details");
  const seconds =
    typeof details === "object" && details !== null && "retryAfterSeconds" in details
      ? details.retryAfterSeconds
      : undefined;
  return typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined;
}

/** Statuses after which the same request may succeed; a token may come, and so may a role. */
function isPassing(status: number): boolean {
  return [401, 403, 408, 429].includes(status) || status >= 500;
}

function remedy(status: number, words: string): string {
  switch (status) {
    case 400:
    case 422:
      return words.includes("denied request") ? denied : "check the object against its schema";
    case 401:
      return "check that the token or certificate is of this cluster, and that it still holds";
    case 403:
      return words.includes("denied request")
        ? denied
        : "give the account that it names a role with this verb on this resource";
    case 404:
      return "check that the object is still there, and that its CRD is installed";
    case 409:
      if (words.startsWith("Apply failed")) {
        return "let the other manager give these fields up, or take them over by force";
      }
      return "read the object again: somebody else changed it, or it is there already";
    case 410:
      return "list again: the server no longer knows that point in its history";
    case 415:
      return "check that what answers there is an API server of a version that Larder supports";
    case 429:
      return "wait: the API server has too much to do at the moment";
    default:
      return status >= 500
        ? "look at the API server's own log; it is asked again after a while"
        : "look at the API server's own log for this request";
  }
}

const denied = "an admission policy or webhook does not allow it: read what it says";

const longestWords = 500;

function shown(message: string, authorization: string | undefined): string {
  const secrets = new Secrets();
  secrets.add(authorization ?? "");
  secrets.add(authorization?.replace(/^\w+ /, "") ?? "");
  const scrubbed = secrets.scrub(message.replace(/\s+/g, " ").trim());
  return scrubbed.length > longestWords ? `${scrubbed.slice(0, longestWords)}...` : scrubbed;
}
