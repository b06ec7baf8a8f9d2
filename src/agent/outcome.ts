import { imageCaches } from "../api/image-cache.ts";
import type { FillResult } from "../cache/store.ts";
import { InsufficientDiskError, LarderError } from "../errors.ts";
import type { EventInput } from "../kube/event-recorder.ts";
import { apiVersionOf } from "../kube/resource.ts";
import type { CacheSpec } from "./cache-spec.ts";

/** The reasons of the events that say why a resource is not on a node. */
export type FailureReason = "SyncFailed" | "CachePathUnavailable" | "InsufficientDisk";

/** What an event calls the error that a pull ended with. */
export function reasonOf(error: LarderError): FailureReason {
  if (error instanceof InsufficientDiskError) return "InsufficientDisk";
  return error.code === "cache-path" ? "CachePathUnavailable" : "SyncFailed";
}

/** The event of a resource that is on this node now. */
export function syncedEvent(cache: CacheSpec, { sentinel, bytes }: FillResult): EventInput {
  const files = sentinel.files.length;
  const [noun, verb] = files === 1 ? ["file", "is"] : ["files", "are"];
  const note = `${files} ${noun}, ${bytes} bytes of ${sentinel.digest} ${verb} in ${cache.cachePath}/${cache.name}`;
  return { ...about(cache), type: "Normal", reason: "Synced", action: "Pull", note };
}

/** The event of a resource that could not be brought onto this node; its note says what to do. */
export function failedEvent(cache: CacheSpec, error: LarderError): EventInput {
  const { message: note } = error;
  return { ...about(cache), type: "Warning", reason: reasonOf(error), action: "Pull", note };
}

function about({ name, uid }: CacheSpec): Pick<EventInput, "regarding"> {
  const { kind } = imageCaches;
  return { regarding: { apiVersion: apiVersionOf(imageCaches), kind, name, uid } };
}
