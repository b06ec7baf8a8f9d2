import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { suite, test } from "node:test";
import type { TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { readBody } from "./body.ts";
import { Stall } from "./silence.ts";

const mebibyte = 1024 * 1024;

/** The answer of a real server that does with its response what it is told. */
async function answerOf(
  t: TestContext,
  respond: (response: ServerResponse) => void,
): Promise<IncomingMessage> {
  const server = createServer((_, response) => respond(response)).listen(0, "127.0.0.1");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const outgoing = get({ host: "127.0.0.1", port: address.port });
  outgoing.on("error", () => {});
  return new Promise((resolve) => outgoing.on("response", resolve));
}

const read = (incoming: IncomingMessage, stallMs = 60_000) =>
  readBody(incoming, stallMs, (error) => error);

suite("the body of an answer", () => {
  test("waits in the network while nobody reads: memory does not grow with its size", async (t) => {
    let made = 0;
    const incoming = await answerOf(t, (response) => {
      const pieces = function* () {
        for (; made < 1024; made++) yield Buffer.alloc(mebibyte / 4);
      };
      Readable.from(pieces()).pipe(response);
    });
    const body = read(incoming);
    await body.next();
    // Until the server stands still, which it does when every buffer on the way is full.
    for (let before = -1; before !== made;) {
      before = made;
      await delay(50);
    }
    assert.ok(made < 256, `the server could send ${made / 4} MiB of 256`);
    await body.return(undefined);
  });

  test("hands on every byte that came before the connection broke, then the error", async (t) => {
    const incoming = await answerOf(t, (response) => {
      response.writeHead(200, { "Content-Length": 100 });
      response.write("0123456789", () => response.socket?.end());
    });
    let text = "";
    await assert.rejects(async () => {
      for await (const chunk of read(incoming)) text += chunk.toString();
    }, Error);
    assert.equal(text, "0123456789");
  });

  test("that falls silent ends with a stall", async (t) => {
    const incoming = await answerOf(t, (response) => void response.write("x"));
    await assert.rejects(async () => {
      for await (const _ of read(incoming, 50));
    }, Stall);
  });

  test("that came while this process stood still is no stall", async (t) => {
    let server: ServerResponse | undefined;
    const incoming = await answerOf(t, (response) => {
      server = response;
      response.write("x");
    });
    const body = read(incoming, 50);
    assert.equal(String((await body.next()).value), "x");
    const next = body.next();
    await new Promise((resolve) => setImmediate(resolve));
    // Its bytes are in the socket and its time is up before anything else of this process runs.
    await new Promise((resolve) => server?.write("y", resolve));
    for (const end = performance.now() + 100; performance.now() < end;);
    assert.equal(String((await next).value), "y");
    await body.return(undefined);
  });

  test("that broke before anybody read it says so at once", async (t) => {
    const incoming = await answerOf(t, (response) => {
      response.writeHead(200, { "Content-Length": 100 });
      response.write("x", () => response.socket?.destroy());
    });
    incoming.on("error", () => {});
    incoming.destroy();
    await once(incoming, "close");
    await assert.rejects(read(incoming).next(), /closed|aborted/);
  });

  test("left early closes its connection", async (t) => {
    const incoming = await answerOf(t, (response) => void response.write("x"));
    for await (const _ of read(incoming)) break;
    assert.ok(incoming.destroyed);
  });
});
