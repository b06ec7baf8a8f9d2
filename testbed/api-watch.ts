import type { ServerResponse } from "node:http";

import type { KubeObject } from "../src/kube/object.ts";
import { withRevision, type Happening } from "./api-history.ts";
import type { Selects } from "./api-selection.ts";

/** One open watch, on the server's side. */
export class ApiWatch {
  readonly #response: ServerResponse;
  readonly #selects: Selects;
  readonly #typed: (object: KubeObject) => object;
  #mute = false;
  #left: { readonly events: number; readonly last: "end" | "cut" } | undefined;

  constructor(
    response: ServerResponse,
    selects: Selects,
    typed: (object: KubeObject) => object,
    onClose: (watch: ApiWatch) => void,
  ) {
    this.#response = response;
    this.#selects = selects;
    this.#typed = typed;
    response.writeHead(200, { "Content-Type": "application/json" });
    response.flushHeaders();
    response.once("close", () => {
      onClose(this);
    });
  }

  /** After so many events it ends, or breaks within the next one. */
  limit(events: number, last: "end" | "cut"): void {
    this.#left = { events, last };
    if (events === 0 && last === "end") this.end();
  }

  /** What is there when the watch begins. */
  initial(object: KubeObject): void {
    if (this.#selects(object)) this.#event("ADDED", object);
  }

  /** A change, as this watch's selectors see it. */
  tell({ revision, before, now }: Happening): void {
    const was = before !== undefined && this.#selects(before);
    const is = now !== undefined && this.#selects(now);
    if (is && now) this.#event(was ? "MODIFIED" : "ADDED", now);
    else if (was && before) this.#event("DELETED", withRevision(before, revision));
  }

  bookmark(revision: number, initialEventsEnd = false): void {
    const annotations = initialEventsEnd ? { "k8s.io/initial-events-end": "true" } : undefined;
    const metadata = { resourceVersion: String(revision), annotations };
    this.line(JSON.stringify({ type: "BOOKMARK", object: { metadata } }));
  }

  error(status: number, reason: string): void {
    const object = { kind: "Status", apiVersion: "v1", status: "Failure", code: status, reason };
    this.line(JSON.stringify({ type: "ERROR", object }));
  }

  /** Any line. */
  line(text: string): void {
    this.words(`${text}\n`);
  }

  /** Any words, which need not be a whole line. */
  words(text: string): void {
    if (!this.#mute) this.#response.write(text);
  }

  /** From now on nothing is said, and nothing is closed. */
  mute(): void {
    this.#mute = true;
  }

  /** As when its time is over. */
  end(): void {
    this.#response.end();
  }

  /** The connection breaks; `text` is what was said of an event by then. */
  cut(text: string): void {
    this.#response.write(text, () => void this.#response.destroy());
  }

  #event(type: string, object: KubeObject): void {
    const text = JSON.stringify({ type, object: this.#typed(object) });
    if (this.#left?.events === 0) {
      if (this.#left.last === "cut") this.cut(text.slice(0, text.length / 2));
      else this.end();
      this.#mute = true;
      return;
    }
    this.line(text);
    if (this.#left) this.limit(this.#left.events - 1, this.#left.last);
  }
}
