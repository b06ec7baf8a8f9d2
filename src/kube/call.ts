import type { KubeObject } from "./object.ts";
import type { Selection } from "./selection.ts";

/** What every call of the client takes. */
export interface Call {
  readonly signal: AbortSignal;
}

export interface CallInNamespace extends Call {
  readonly namespace?: string | undefined;
}

export interface ListOptions extends Selection, Call {}

export interface Page {
  readonly items: readonly KubeObject[];
  /** Of the whole list, the same on each page. */
  readonly resourceVersion: string;
}

export interface WatchOptions extends Selection, Call {
  /** Says what happened since; undefined: what is there, then what happens. */
  readonly resourceVersion?: string | undefined;
  /** What is there comes first, and its end is said by a bookmark. */
  readonly sendInitialEvents?: boolean;
  /** The server ends the watch after this time. */
  readonly timeoutSeconds: number;
  /** Milliseconds without a byte after which the connection counts as dead. Default 5 minutes. */
  readonly silenceMs?: number;
  readonly onBytes?: (count: number) => void;
  /** The server took the watch: from here on nothing is missed. */
  readonly onOpen?: () => void;
}

export interface ApplyOptions extends Call {
  /** Who owns the fields that are applied. */
  readonly manager: string;
  /** Takes fields over that somebody else owns. Default false: a conflict is 409. */
  readonly force?: boolean;
}

export interface DeleteOptions extends CallInNamespace {
  /** Only the object with this uid, and this resourceVersion; another one is 409. */
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}
