/** The ways in which an API server can misbehave on purpose. */
export type ApiFault =
  /** Does what was asked, so that a later request is the one that a fault hits. */
  | { readonly kind: "none" }
  /** Answers this instead of what was asked for. */
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly reason?: string;
      readonly message?: string;
      readonly headers?: Readonly<Record<string, string>>;
      /** In place of a Status. */
      readonly body?: string | Buffer;
    }
  /** Closes the connection before it answers. */
  | { readonly kind: "drop" }
  /** Takes the request and never answers. */
  | { readonly kind: "hang" }
  /** Sends the headers and nothing more. */
  | { readonly kind: "silent" }
  /** A watch that begins with this ERROR event. */
  | { readonly kind: "error event"; readonly status: number; readonly reason: string }
  /** A watch that ends, as if its time were over, after so many events. */
  | { readonly kind: "end"; readonly after: number }
  /** A watch that breaks within the event after so many events. */
  | { readonly kind: "cut"; readonly after: number };

/** `stream`: a watch that begins with a list. */
export type Asked = "list" | "watch" | "stream" | "get" | "write";

interface Rule {
  readonly asked: Asked | "anything";
  readonly fault: ApiFault;
  left: number;
}

/** The faults still to happen, in the order in which they were asked for. */
export class ApiFaults {
  readonly #rules: Rule[] = [];

  add(asked: Asked | "anything", fault: ApiFault, times: number): void {
    this.#rules.push({ asked, fault, left: times });
  }

  /** The fault for this request, which is then one fewer. */
  take(asked: Asked): ApiFault | undefined {
    const hit = this.#rules.find(
      (rule) => rule.left > 0 && (rule.asked === asked || rule.asked === "anything"),
    );
    if (hit === undefined) return undefined;
    hit.left -= 1;
    return hit.fault;
  }
}
