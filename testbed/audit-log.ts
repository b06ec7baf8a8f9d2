import { open, stat } from "node:fs/promises";

/** One request, as the API server's audit log has it. */
export interface AuditEntry {
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`. */
  readonly verb: string;
  readonly user: string;
  readonly userAgent: string;
  readonly uri: string;
  /** `nodes`; undefined for paths that are no resource. */
  readonly resource: string | undefined;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** Undefined while a watch is open. */
  readonly status: number | undefined;
  readonly sourceIp: string | undefined;
  /** When the API server received it. */
  readonly received: Date;
}

export interface AuditFilter {
  readonly user?: string | RegExp;
  readonly userAgent?: string | RegExp;
  readonly verb?: string | readonly string[];
  readonly resource?: string;
  readonly name?: string;
}

/** The verbs that change something. */
export const writingVerbs = ["create", "update", "patch", "delete", "deletecollection"] as const;

/** Everything that the API server was asked. It writes an entry before it ends its answer. */
export class AuditLog {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Now, for `since`. */
  async mark(): Promise<number> {
    const found = await stat(this.path).catch(() => undefined);
    return found?.size ?? 0;
  }

  /** Every request since `mark` that the filter lets through, once, the oldest first. */
  async since(mark: number, filter: AuditFilter = {}): Promise<AuditEntry[]> {
    const requests = new Map<string, AuditEntry>();
    const file = await open(this.path);
    try {
      for await (const line of file.readLines({ start: mark, autoClose: false })) {
        const event = parsed(line);
        if (event === undefined) continue;
        const entry = entryOf(event);
        // A watch is there twice, when it begins and when it ends; the later one knows more.
        if (passes(entry, filter)) requests.set(event.auditID, entry);
      }
    } finally {
      await file.close();
    }
    return [...requests.values()];
  }
}

/** audit.k8s.io/v1 Event, the fields in use: https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/ */
interface AuditEvent {
  readonly auditID: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly sourceIPs?: readonly string[];
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
  readonly stage: string;
}

/** A line that is just being written is none yet. */
function parsed(line: string): AuditEvent | undefined {
  try {
    return JSON.parse(line) as AuditEvent;
  } catch {
    return undefined;
  }
}

function entryOf(event: AuditEvent): AuditEntry {
  return {
    verb: event.verb,
    user: event.user.username,
    userAgent: event.userAgent ?? "",
    uri: event.requestURI,
    resource: event.objectRef?.resource,
    subresource: event.objectRef?.subresource,
    namespace: event.objectRef?.namespace,
    name: event.objectRef?.name,
    status: event.stage === "ResponseStarted" ? undefined : event.responseStatus?.code,
    sourceIp: event.sourceIPs?.[0],
    received: new Date(event.requestReceivedTimestamp),
  };
}

function passes(entry: AuditEntry, filter: AuditFilter): boolean {
  const { user, userAgent, verb, resource, name } = filter;
  return (
    matches(entry.user, user) &&
    matches(entry.userAgent, userAgent) &&
    (verb === undefined || [verb].flat().includes(entry.verb)) &&
    (resource === undefined || entry.resource === resource) &&
    (name === undefined || entry.name === name)
  );
}

function matches(text: string, wanted: string | RegExp | undefined): boolean {
  if (wanted === undefined) return true;
  return typeof wanted === "string" ? text === wanted : wanted.test(text);
}
