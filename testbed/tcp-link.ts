import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { Server, Socket } from "node:net";

import { DelayedFlow } from "./delayed-flow.ts";
import { freePort } from "./free-port.ts";

type State = "open" | "cut" | "hanging";

/** A way to a port on 127.0.0.1 on which the network's faults can be had at will. */
export async function startTcpLink(target: number): Promise<TcpLink> {
  const link = new TcpLink(target, await freePort());
  await link.restore();
  return link;
}

export class TcpLink implements AsyncDisposable {
  readonly port: number;
  readonly #target: number;
  readonly #pairs = new Set<Pair>();
  /** Those that hung once: nobody will ever hear of them again. */
  readonly #lost = new Set<Pair>();
  #server: Server | undefined;
  #state: State = "cut";
  #delayMs = 0;
  #accepted = 0;

  constructor(target: number, port: number) {
    this.#target = target;
    this.port = port;
  }

  /** As an API server's URL; the certificate behind it has to be good for 127.0.0.1. */
  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** How many connections were accepted since the beginning. */
  get accepted(): number {
    return this.#accepted;
  }

  /** How many connections work at present. */
  get open(): number {
    return this.#pairs.size;
  }

  /** Resets every connection and refuses new ones. */
  async cut(): Promise<void> {
    this.#state = "cut";
    for (const pair of [...this.#pairs, ...this.#lost]) pair.reset();
    const server = this.#server;
    this.#server = undefined;
    if (server?.listening === true) {
      server.close();
      await once(server, "close");
    }
  }

  /**
   * Accepts connections and swallows what is sent, as when every packet is dropped: nothing arrives,
   * nothing is closed, on neither side. Open connections are lost that way for ever, also after
   * `restore`.
   */
  async hang(): Promise<void> {
    await this.#listen();
    this.#state = "hanging";
    for (const pair of this.#pairs) this.#lose(pair);
  }

  /** From now on what is sent arrives that much later, in both directions; 0: at once. */
  delay(milliseconds: number): void {
    this.#delayMs = milliseconds;
  }

  /** Connections made from now on work again. A delay stays as it is. */
  async restore(): Promise<void> {
    await this.#listen();
    this.#state = "open";
  }

  /** Ends it, and with it every connection. */
  async close(): Promise<void> {
    await this.cut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #listen(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
    this.#server = server;
    server.listen(this.port, "127.0.0.1");
    await once(server, "listening");
  }

  #accept(socket: Socket): void {
    this.#accepted++;
    const onward = connect({ port: this.#target, host: "127.0.0.1", allowHalfOpen: true });
    const pair = new Pair(socket, onward, () => this.#delayMs);
    this.#pairs.add(pair);
    pair.onEnd = () => {
      this.#pairs.delete(pair);
      this.#lost.delete(pair);
    };
    if (this.#state === "hanging") this.#lose(pair);
  }

  #lose(pair: Pair): void {
    pair.silence();
    this.#pairs.delete(pair);
    this.#lost.add(pair);
  }
}

/** A connection of a client and the one that goes on from here. */
class Pair {
  onEnd: () => void = () => {};
  readonly #sockets: readonly [Socket, Socket];
  readonly #flows: readonly DelayedFlow[];
  #silent = false;

  constructor(near: Socket, far: Socket, delayMs: () => number) {
    this.#sockets = [near, far];
    this.#flows = [new DelayedFlow(near, far, delayMs), new DelayedFlow(far, near, delayMs)];
    for (const socket of this.#sockets) {
      socket.setNoDelay(true);
      // What follows an error is `close`.
      socket.on("error", () => {});
      socket.once("close", (failed) => this.#closed(failed));
    }
  }

  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
    this.onEnd();
  }

  /** Passes nothing on any more, not even an end. */
  silence(): void {
    this.#silent = true;
    for (const flow of this.#flows) flow.swallow();
  }

  #closed(failed: boolean): void {
    if (this.#silent) return;
    if (failed) this.reset();
    else if (this.#sockets.every((socket) => socket.destroyed)) this.onEnd();
  }
}
