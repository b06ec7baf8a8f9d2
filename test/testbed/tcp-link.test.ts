/** The faults of a network, as the tests of clients make them. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { startTcpLink, type TcpLink } from "../../testbed/tcp-link.ts";
import { until } from "../../testbed/until.ts";

/** Answers everything with itself. */
let echo: Server;
/** The ends at the target, the oldest first. */
const served: Socket[] = [];
let link: TcpLink;
const clients: Socket[] = [];

before(async () => {
  echo = createServer({ allowHalfOpen: true }, (socket) => {
    served.push(socket);
    socket.on("error", () => {});
    socket.pipe(socket);
  });
  echo.listen(0, "127.0.0.1");
  await once(echo, "listening");
});
after(() => echo.close());

beforeEach(async () => {
  const address = echo.address();
  assert.ok(typeof address === "object" && address !== null);
  served.length = 0;
  link = await startTcpLink(address.port);
});
afterEach(async () => {
  for (const socket of [...clients, ...served]) socket.destroy();
  clients.length = 0;
  await link.close();
});

async function client(): Promise<Socket> {
  const socket = connect({ port: link.port, host: "127.0.0.1", allowHalfOpen: true });
  clients.push(socket);
  await once(socket, "connect");
  return socket;
}

/** Sends a word and waits for it to come back. @returns milliseconds */
async function roundTrip(socket: Socket, word = "hello"): Promise<number> {
  const began = performance.now();
  socket.write(word);
  const [answer] = (await once(socket, "data")) as [Buffer];
  assert.equal(answer.toString(), word);
  return performance.now() - began;
}

/** Far longer than an answer on loopback takes. */
const aWhile = 200;

async function saysNothing(socket: Socket): Promise<void> {
  const heard: string[] = [];
  const hear = (what: string) => () => heard.push(what);
  const listeners = ["data", "end", "close", "error"].map((what) => [what, hear(what)] as const);
  for (const [what, listener] of listeners) socket.on(what, listener);
  socket.write("anybody?");
  await delay(aWhile);
  for (const [what, listener] of listeners) socket.off(what, listener);
  assert.deepEqual(heard, []);
}

test("a link passes everything on, both ways, and each end by itself", async () => {
  const socket = await client();
  const sent = randomBytes(8 * 1024 * 1024);
  socket.end(sent);
  assert.ok(Buffer.concat(await socket.toArray()).equals(sent));
});

test("a link counts the connections that it accepted and those that are open", async () => {
  const [one, two] = [await client(), await client()];
  await Promise.all([roundTrip(one), roundTrip(two)]);
  assert.deepEqual([link.accepted, link.open], [2, 2]);
  one.end();
  assert.equal(await text(one), "");
  await until("one is closed", () => link.open === 1);
  assert.equal(link.accepted, 2);
});

test("a reader that takes nothing stops the sender", async () => {
  const socket = await client();
  const big = Buffer.alloc(64 * 1024 * 1024);
  socket.pause();
  socket.write(big);
  await until("the sender is stopped", async () => {
    const before = socket.bytesWritten - socket.writableLength;
    await delay(aWhile);
    return before === socket.bytesWritten - socket.writableLength;
  });
  assert.ok(socket.writableLength > 0);
});

test("a cut link resets what is open and refuses what is new, and works again once restored", async () => {
  const { port } = link;
  const socket = await client();
  await roundTrip(socket);
  const reset = once(socket, "error");
  await link.cut();
  const [error] = (await reset) as [NodeJS.ErrnoException];
  assert.equal(error.code, "ECONNRESET");
  await until("the target's end is closed too", () => served[0]!.destroyed);
  assert.equal(link.open, 0);
  await assert.rejects(client(), { code: "ECONNREFUSED" });
  await link.restore();
  assert.equal(link.port, port);
  await roundTrip(await client());
});

test("a hanging link accepts and swallows: nothing arrives, nothing comes back, nothing is closed", async () => {
  const old = await client();
  await roundTrip(old);
  await link.hang();
  assert.equal(link.open, 0);
  const fresh = await client();
  const arrived: unknown[] = [];
  served[0]!.on("data", (bytes) => arrived.push(bytes));
  await Promise.all([saysNothing(old), saysNothing(fresh)]);
  assert.deepEqual(arrived, []);
});

test("an end that one side makes while a link hangs does not reach the other, also later", async () => {
  const [one, two] = [await client(), await client()];
  await roundTrip(one);
  await roundTrip(two);
  await link.hang();
  served[0]!.destroy();
  await saysNothing(one);
  two.destroy();
  await link.restore();
  await Promise.all([saysNothing(one), delay(aWhile)]);
  assert.equal(served[1]!.readableEnded, false);
  assert.equal(served[1]!.destroyed, false);
});

test("what hung once stays silent after the link is restored, and new connections work", async () => {
  const old = await client();
  await roundTrip(old);
  await link.hang();
  await link.restore();
  await saysNothing(old);
  await roundTrip(await client());
  assert.equal(link.open, 1);
});

test("a link that was cut can hang, and one that hung can be cut", async () => {
  await link.cut();
  await link.hang();
  const socket = await client();
  await saysNothing(socket);
  const reset = once(socket, "error");
  await link.cut();
  const [error] = (await reset) as [NodeJS.ErrnoException];
  assert.equal(error.code, "ECONNRESET");
});

test("a delay holds back each direction, and is over when it is set to 0", async () => {
  const socket = await client();
  await roundTrip(socket);
  link.delay(100);
  const slow = await roundTrip(socket);
  assert.ok(slow >= 200, `${slow} ms`);
  link.delay(0);
  const fast = await roundTrip(socket);
  assert.ok(fast < 100, `${fast} ms`);
});

test("what is sent after a delay has become shorter does not pass what is ahead of it", async () => {
  const socket = await client();
  await roundTrip(socket);
  link.delay(150);
  socket.write("first ");
  await delay(20);
  link.delay(0);
  socket.end("second");
  assert.equal(await text(socket), "first second");
});
