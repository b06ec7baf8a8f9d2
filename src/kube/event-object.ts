import { microTime } from "./micro-time.ts";
import type { KubeObject } from "./object.ts";
import { apiVersionOf, events } from "./resource.ts";

/** The object that an event is about. */
export interface Regarding {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Without it an event is about whatever has that name. */
  readonly uid?: string;
  /** None for a cluster-scoped object. */
  readonly namespace?: string;
}

/** Something that happened to an object, in words for whoever looks at it. */
export interface EventInput {
  readonly regarding: Regarding;
  readonly type: "Normal" | "Warning";
  /** In a switch-like form: `SyncFailed`. */
  readonly reason: string;
  /** What was done, or failed: `Pull`. */
  readonly action: string;
  /** A sentence; what is beyond 1024 bytes is cut off. */
  readonly note: string;
}

/** Who says so. */
export interface EventSource {
  /** A qualified name: `image-cache-agent`. */
  readonly component: string;
  /** Which of them: the node's name, or a pod's. */
  readonly instance: string;
}

/** How often something happened, and when; dates in milliseconds since 1970. */
export interface Occurrences {
  readonly count: number;
  readonly firstDate: number;
  readonly lastDate: number;
}

// What the API server's validation allows; it counts bytes.
const longest = { note: 1024, reason: 128, action: 128, instance: 128, name: 253 } as const;

/** With no more of the note than is ever sent. */
export function boundedNote(input: EventInput): EventInput {
  return { ...input, note: cut(input.note, longest.note) };
}

/** The Event (events.k8s.io/v1) of what happened. */
export function eventObject(
  name: string,
  input: EventInput,
  source: EventSource,
  occurrences: Occurrences,
): KubeObject {
  const { regarding, type, reason, action, note } = input;
  return {
    apiVersion: apiVersionOf(events),
    kind: events.kind,
    metadata: { name, namespace: namespaceOf(input) },
    eventTime: microTime(occurrences.firstDate),
    ...(occurrences.count > 1 && { series: seriesOf(occurrences) }),
    reportingController: source.component,
    reportingInstance: cut(source.instance, longest.instance),
    action: cut(action, longest.action),
    reason: cut(reason, longest.reason),
    regarding,
    note: cut(note, longest.note),
    type,
  };
}

/** The member that says how often and when last; the API server wants it from the second time on. */
export function seriesOf({ count, lastDate }: Occurrences) {
  return { count, lastObservedTime: microTime(lastDate) };
}

/** Events stand beside what they are about; those about cluster-scoped objects in `default`. */
export function namespaceOf({ regarding }: EventInput): string {
  return regarding.namespace ?? "default";
}

/**
 * A name that no other event has: 10,000 nodes may have one about one object in one moment.
 *
 * @param date milliseconds since 1970
 * @param random from 0 up to, not including, 1
 */
export function eventName({ regarding }: EventInput, date: number, random: number): string {
  const moment = date.toString(16);
  const chance = Math.floor(random * 2 ** 48)
    .toString(16)
    .padStart(12, "0");
  const end = `.${moment}${chance}`;
  const start = regarding.name.slice(0, longest.name - end.length);
  // A name that is cut must not end a part of itself with a dash or a dot.
  return start.replace(/[^a-z0-9]+$/, "") + end;
}

/** As much of a text as fits into so many bytes of UTF-8; no character is cut in two. */
function cut(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read).toWellFormed();
}
