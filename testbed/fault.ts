/** The ways in which a registry can misbehave on purpose. */
export type Fault =
  /** Answers this instead of what was asked for. */
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Buffer;
      /** Without Content-Length. */
      readonly chunked?: boolean;
    }
  /** Closes the connection before it answers. */
  | { readonly kind: "drop" }
  /** Closes the connection after this many bytes of the body. */
  | { readonly kind: "cut"; readonly after: number; readonly ignoreRange?: boolean }
  /** Falls silent after this many bytes of the body; before the answer where undefined. */
  | { readonly kind: "stall"; readonly after?: number }
  /** Sends the body in pieces of this many bytes with pauses between. */
  | { readonly kind: "slow"; readonly bytes: number; readonly everyMs: number }
  /** Answers a Range request with 200 and everything. */
  | { readonly kind: "ignore range" }
  /** Adds to, or replaces, the headers of the true answer. */
  | { readonly kind: "headers"; readonly headers: Readonly<Record<string, string>> }
  /** Serves other bytes with the true headers (save Content-Length). */
  | { readonly kind: "bytes"; readonly body: Buffer; readonly chunked?: boolean }
  | { readonly kind: "redirect"; readonly to: string; readonly status?: number };

/** Which requests a fault hits. */
export interface FaultRule {
  /** Of path and query. */
  readonly path: RegExp;
  readonly fault: Fault;
  /** How many requests it hits; default 1. */
  readonly times?: number;
}

/** The faults still to happen, in the order in which they were asked for. */
export class FaultScript {
  readonly #rules: { rule: FaultRule; left: number }[] = [];

  add(rule: FaultRule): void {
    this.#rules.push({ rule, left: rule.times ?? 1 });
  }

  /** The fault for this request, which is then one fewer. */
  take(path: string): Fault | undefined {
    const hit = this.#rules.find(({ rule, left }) => left > 0 && rule.path.test(path));
    if (hit === undefined) return undefined;
    hit.left -= 1;
    return hit.rule.fault;
  }
}
