import { asObject, member, parseObject, text } from "../registry/json.ts";
import { ApiError } from "./api-error.ts";
import { asKubeObject, type KubeObject } from "./object.ts";
import { statusError } from "./refusal.ts";

/** What a watch says. */
export type WatchEvent =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: KubeObject }
  | {
      readonly type: "BOOKMARK";
      /** Everything up to here has been said. */
      readonly resourceVersion: string;
      /** The list that the watch began with is complete. */
      readonly initialEventsEnd: boolean;
    };

/**
 * One line of a watch.
 *
 * @param what `watch nodes`, for errors
 * @throws ApiError for an ERROR event, and where the line is no event
 */
export function parseWatchEvent(line: string, what: string): WatchEvent {
  const said = parseObject(Buffer.from(line));
  const object = said && asObject(member(said, "object"));
  if (said === undefined || object === undefined) throw malformed(what, "a line that is no event");
  const type = member(said, "type");
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED": {
      const known = asKubeObject(object);
      if (known === undefined) throw malformed(what, "an event about something without a name");
      return { type, object: known };
    }
    case "BOOKMARK":
      return bookmark(object, what);
    case "ERROR":
      throw statusError(object, what);
    default:
      throw malformed(what, "an event of a type that Larder does not know");
  }
}

function bookmark(object: Readonly<Record<string, unknown>>, what: string): WatchEvent {
  const metadata = asObject(member(object, "metadata")) ?? {};
  const annotations = asObject(member(metadata, "annotations")) ?? {};
  const resourceVersion = text(metadata, "resourceVersion");
  if (resourceVersion === undefined) throw malformed(what, "a bookmark without a resourceVersion");
  const initialEventsEnd = member(annotations, "k8s.io/initial-events-end") === "true";
  return { type: "BOOKMARK", resourceVersion, initialEventsEnd };
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
