import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";

import { refusal } from "../../testbed/refusal.ts";
import { until } from "../../testbed/until.ts";
import { startHealthServer, type HealthServerOptions } from "./health-server.ts";
import { parseListenAddress } from "./listen-address.ts";
import { Metrics } from "./metrics.ts";

async function start(context: TestContext, options: Partial<HealthServerOptions> = {}) {
  const server = await startHealthServer({
    address: parseListenAddress("127.0.0.1:0"),
    healthy: () => undefined,
    ready: () => undefined,
    metrics: new Metrics(),
    ...options,
  });
  context.after(() => server.close());
  const ask = async (path: string, method = "GET") => {
    const response = await fetch(`${server.url}${path}`, { method });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const plug = async (): Promise<Socket> => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.on("error", () => {});
    context.after(() => socket.destroy());
    await once(socket, "connect");
    return socket;
  };
  return { server, ask, plug };
}

/** How many sockets this process has open, at whichever end. */
function openSockets(): number {
  const targets = readdirSync("/proc/self/fd").map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      // The one by which they are listed.
      return "";
    }
  });
  return targets.filter((target) => target.startsWith("socket:")).length;
}

test("a probe is told that all is well, or what is not", async (context) => {
  let wrong: string | undefined;
  const { ask } = await start(context, { ready: () => wrong });
  const well = await ask("/readyz");
  assert.deepEqual([well.status, well.text], [200, "ok\n"]);
  wrong = "the ImageCaches were not listed yet";
  const ill = await ask("/readyz?verbose");
  assert.deepEqual([ill.status, ill.text], [503, "the ImageCaches were not listed yet\n"]);
  assert.equal((await ask("/healthz")).status, 200);
});

test("a check that throws is a failure of the probe, not of the process", async (context) => {
  const { ask } = await start(context, {
    healthy: () => {
      throw new Error("no idea");
    },
  });
  const { status, text } = await ask("/healthz");
  assert.deepEqual([status, text], [500, "no idea\n"]);
});

test("metrics come in the format that their header names", async (context) => {
  const metrics = new Metrics();
  metrics.counter({ name: "a_total", help: "A" }).add(3);
  const { ask } = await start(context, { metrics });
  const { status, headers, text } = await ask("/metrics");
  assert.equal(status, 200);
  assert.equal(headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  assert.equal(text, "# HELP a_total A\n# TYPE a_total counter\na_total 3\n");
});

test("HEAD has the headers of GET and no body", async (context) => {
  const { ask } = await start(context);
  const { status, headers, text } = await ask("/healthz", "HEAD");
  assert.deepEqual([status, headers.get("content-length"), text], [200, "3", ""]);
});

test("other methods and other paths are refused", async (context) => {
  const { ask } = await start(context);
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    const { status, headers } = await ask("/healthz", method);
    assert.deepEqual([status, headers.get("allow")], [405, "GET, HEAD"]);
  }
  for (const path of ["/", "/metrics/", "/healthz/x", "//metrics"]) {
    assert.equal((await ask(path)).status, 404);
  }
});

test("headers have a bound", async (context) => {
  const { plug } = await start(context);
  const socket = await plug();
  socket.write(`GET /healthz HTTP/1.1\r\nhost: x\r\nx: ${"y".repeat(9000)}\r\n\r\n`);
  assert.match(await text(socket), /^HTTP\/1\.1 431 /);
});

test("a client that never finishes its request is cut off", async (context) => {
  const { plug } = await start(context);
  const [silent, slow] = [await plug(), await plug()];
  slow.write("GET /healthz HTTP/1.1\r\nhost:");
  const answers = await Promise.all([text(silent), text(slow)]);
  for (const answer of answers) assert.match(answer, /^(HTTP\/1\.1 408 |$)/);
});

test("however many idle clients there are, a probe is answered", async (context) => {
  const { plug, ask } = await start(context);
  const idle = await Promise.all(Array.from({ length: 200 }, plug));
  assert.equal((await ask("/healthz")).status, 200);
  await until("the oldest are gone", () => idle.filter((socket) => !socket.closed).length <= 64);
});

test("a client that does not read its answer is cut off within seconds", async (context) => {
  const metrics = new Metrics();
  const gauge = metrics.gauge({ name: "a", help: "A", labels: { name: "any" } });
  // More than the kernel takes on behalf of both.
  const long = "x".repeat(1024 * 1024);
  gauge.replace(Array.from({ length: 32 }, (_, index) => [{ name: `${index}${long}` }, 1]));
  const { plug } = await start(context, { metrics });
  const before = openSockets();
  const socket = await plug();
  socket.pause();
  const since = performance.now();
  socket.write("GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n");
  await until("both ends are there", () => openSockets() === before + 2);
  await until("the server's end is gone", () => openSockets() === before + 1);
  assert.ok(performance.now() - since > 2000);
});

test("closing takes milliseconds, whatever is connected", async (context) => {
  const { server, plug } = await start(context);
  const sockets = await Promise.all(Array.from({ length: 20 }, plug));
  sockets[0]?.write("GET /healthz HTTP/1.1\r\n");
  const before = performance.now();
  await server.close();
  assert.ok(performance.now() - before < 200);
  await until("every client knows", () => sockets.every((socket) => socket.closed));
});

test("a port that is taken is refused in words", async (context) => {
  const { server } = await start(context);
  const taken = new URL(server.url).host;
  await assert.rejects(
    start(context, { address: parseListenAddress(taken) }),
    refusal(
      "network",
      /^cannot listen on 127\.0\.0\.1:\d+: another process listens there: stop that, or choose another port$/,
    ),
  );
});

test("an address that the machine does not have is refused in words", async (context) => {
  await assert.rejects(
    start(context, { address: parseListenAddress("192.0.2.1:0") }),
    refusal(
      "network",
      /^cannot listen on 192\.0\.2\.1:0: this machine has no address 192\.0\.2\.1: /,
    ),
  );
});

test("without a host it listens on all addresses", async (context) => {
  const { server } = await start(context, { address: parseListenAddress(":0") });
  const { port } = new URL(server.url);
  for (const host of ["127.0.0.1", "127.0.0.2", "[::1]"]) {
    assert.equal((await fetch(`http://${host}:${port}/healthz`)).status, 200);
  }
});
