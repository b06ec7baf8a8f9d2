import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";

/** A forward proxy inside this process: CONNECT for https, absolute URLs for http. */
export class ForwardProxy {
  /** `CONNECT registry.test:443`, `GET http://registry.test/v2/`. */
  readonly seen: string[] = [];
  readonly #server: Server;
  readonly #authorization: string | undefined;
  readonly #port: number;
  readonly #sockets = new Set<Socket>();

  /** @param port where everything is sent on 127.0.0.1, whatever host is asked for */
  constructor(port: number, user?: { username: string; password: string }) {
    this.#port = port;
    this.#authorization =
      user && `Basic ${Buffer.from(`${user.username}:${user.password}`).toString("base64")}`;
    this.#server = createServer((request, response) => this.#forward(request, response));
    this.#server.on("connect", (request: IncomingMessage, socket: Socket) => {
      this.#tunnel(request, socket);
    });
    this.#server.on("connection", (socket: Socket) => this.#sockets.add(socket));
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get host(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("it does not listen");
    return `127.0.0.1:${address.port}`;
  }

  async stop(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, "close");
  }

  #admits(request: IncomingMessage): boolean {
    this.seen.push(`${request.method} ${request.url}`);
    const sent = request.headers["proxy-authorization"];
    return this.#authorization === undefined || sent === this.#authorization;
  }

  #forward(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#admits(request)) {
      response.writeHead(407).end();
      return;
    }
    const { pathname, search } = new URL(request.url ?? "");
    const onward = httpRequest(
      { port: this.#port, host: "127.0.0.1", path: pathname + search, headers: request.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    onward.end();
  }

  #tunnel(request: IncomingMessage, socket: Socket): void {
    socket.on("error", () => {});
    if (!this.#admits(request)) {
      socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
      return;
    }
    const onward = connect(this.#port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    this.#sockets.add(onward);
    onward.on("error", () => socket.destroy());
    socket.on("close", () => onward.destroy());
  }
}
