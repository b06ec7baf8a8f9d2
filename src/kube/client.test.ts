/** The client against an API server that can misbehave. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { makeCertificates } from "../../testbed/certificates.ts";
import { startMisbehavingApiServer } from "../../testbed/misbehaving-api-server.ts";
import type { MisbehavingApiServerOptions } from "../../testbed/misbehaving-api-server.ts";
import { until } from "../../testbed/until.ts";
import { LarderError } from "../errors.ts";
import type { Access } from "./access.ts";
import { ApiError } from "./api-error.ts";
import { Client, type ClientOptions } from "./client.ts";
import { nodes } from "./resource.ts";

const userAgent = "larder-test/1.2.3";
const node = { metadata: { name: "a" }, spec: {} };

async function stage(
  t: TestContext,
  options: Partial<ClientOptions> = {},
  serverOptions: Partial<MisbehavingApiServerOptions> = {},
) {
  const server = await startMisbehavingApiServer({ resource: nodes, ...serverOptions });
  t.after(() => server.stop());
  server.put(node);
  const client = new Client({ access: server.access(), userAgent, timeoutMs: 1_000, ...options });
  t.after(() => client.close());
  return { server, client, call: { signal: t.signal } };
}

async function errorOf(work: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ApiError, String(error));
  return error;
}

test("requests say who asks and take JSON, and writes say of which type they are", async (t) => {
  const { server, client, call } = await stage(t);
  await client.get(nodes, "a", call);
  await client.create(nodes, { metadata: { name: "b" } }, call);
  await client.update(nodes, { metadata: { name: "b" } }, call);
  await client.patch(nodes, "b", { spec: {} }, call);
  await client.apply(nodes, { metadata: { name: "b" } }, { ...call, manager: "m", force: true });
  await client.delete(nodes, "b", call);
  assert.deepEqual(
    server.seen.map(({ method, path, headers }) => [method, path, headers["content-type"]]),
    [
      ["GET", "/api/v1/nodes/a", undefined],
      ["POST", "/api/v1/nodes", "application/json"],
      ["PUT", "/api/v1/nodes/b", "application/json"],
      ["PATCH", "/api/v1/nodes/b", "application/merge-patch+json"],
      ["PATCH", "/api/v1/nodes/b", "application/apply-patch+yaml"],
      ["DELETE", "/api/v1/nodes/b", "application/json"],
    ],
  );
  assert.ok(server.seen.every(({ headers }) => headers["user-agent"] === userAgent));
  assert.ok(server.seen.every(({ headers }) => headers.accept === "application/json"));
  assert.equal(server.seen[4]?.query.toString(), "fieldManager=m&force=true");
  assert.equal(server.accepted, 1, "one connection, kept open");
});

test("a 401 makes the credentials be read again, once", async (t) => {
  const asked: (boolean | undefined)[] = [];
  const { server, call } = await stage(t, {}, { token: "new" });
  const access: Access = {
    ...server.access(),
    authorization: (refused) => {
      asked.push(refused);
      return Promise.resolve(refused === true ? "Bearer new" : "Bearer old");
    },
  };
  const client = new Client({ access, userAgent });
  t.after(() => client.close());
  assert.ok(await client.get(nodes, "a", call));
  assert.deepEqual(asked, [false, true]);
  server.token = "newer";
  const error = await errorOf(client.get(nodes, "a", call));
  assert.equal(error.status, 401);
  assert.equal(server.seen.length, 4);
});

test("a refusal never shows the token, also where the server echoes it", async (t) => {
  const { server, client, call } = await stage(t, {}, { token: "secret-token-of-mine" });
  server.misbehave("get", {
    kind: "answer",
    status: 403,
    reason: "Forbidden",
    message: "Bearer secret-token-of-mine may not do that; neither may secret-token-of-mine",
  });
  const { message } = await errorOf(client.get(nodes, "a", call));
  assert.doesNotMatch(message, /secret/);
  assert.match(message, /\*\*\* may not do that/);
});

test("429 and 503 are not tried again here, and say when to", async (t) => {
  const contacts: boolean[] = [];
  const { server, client, call } = await stage(t, { onContact: (ok) => contacts.push(ok) });
  const headers = { "Retry-After": "3" };
  server.misbehave("get", { kind: "answer", status: 429, reason: "TooManyRequests", headers });
  const busy = await errorOf(client.get(nodes, "a", call));
  assert.deepEqual(
    [busy.status, busy.reason, busy.retryAfterMs, busy.retryable, busy.code],
    [429, "TooManyRequests", 3_000, true, "api"],
  );
  server.misbehave("get", { kind: "answer", status: 503, body: "<html>" });
  const away = await errorOf(client.get(nodes, "a", call));
  assert.deepEqual([away.status, away.retryAfterMs, away.retryable], [503, undefined, true]);
  assert.match(away.message, /^cannot get nodes\/a: the API server answered 503 Service Unav.*: /);
  await client.get(nodes, "a", call);
  assert.deepEqual(contacts, [false, false, true]);
  assert.equal(server.seen.length, 3);
});

test("a refusal by admission says so, and by schema too", async (t) => {
  const { server, client, call } = await stage(t);
  const denied = "ValidatingAdmissionPolicy 'x' with binding 'y' denied request: not your node";
  for (const status of [403, 422]) {
    server.misbehave("write", { kind: "answer", status, reason: "Invalid", message: denied });
    const { message } = await errorOf(client.patch(nodes, "a", {}, call));
    assert.match(message, /denied request: not your node": an admission policy or webhook/);
  }
  server.misbehave("write", { kind: "answer", status: 422, reason: "Invalid", message: "bad" });
  assert.match(
    (await errorOf(client.patch(nodes, "a", {}, call))).message,
    /saying "bad": check the object against its schema/,
  );
});

test("answers that are no objects, or too large, are failures that say so", async (t) => {
  const { server, client, call } = await stage(t);
  for (const body of ["", "<html>", "[]", "{}", '{"metadata":{}}']) {
    server.misbehave("get", { kind: "answer", status: 200, body });
    assert.match((await errorOf(client.get(nodes, "a", call))).message, /something that is no obj/);
  }
  for (const body of ["{}", '{"items":{}}', "null"]) {
    server.misbehave("list", { kind: "answer", status: 200, body });
    assert.match((await errorOf(client.list(nodes, call))).message, /something that is no list/);
  }
  const body = Buffer.alloc(17 * 1024 * 1024, " ");
  server.misbehave("get", { kind: "answer", status: 200, body });
  assert.match((await errorOf(client.get(nodes, "a", call))).message, /is more than 16 MiB/);
  server.misbehave("get", { kind: "answer", status: 500, body: body.subarray(0, 2 ** 21) });
  assert.equal((await errorOf(client.get(nodes, "a", call))).status, 500);
});

test("a list whose next page is the same one again has an end, and is a failure", async (t) => {
  const { server, client, call } = await stage(t);
  const page = JSON.stringify({ metadata: { resourceVersion: "1", continue: "x" }, items: [] });
  server.misbehave("list", { kind: "answer", status: 200, body: page }, 5);
  assert.match((await errorOf(client.list(nodes, call))).message, /the same page twice/);
  assert.equal(server.seen.length, 2);
});

test("no answer, or half of one, is a failure within the time limit, with status 0", async (t) => {
  const { server, client, call } = await stage(t, { timeoutMs: 200 });
  server.misbehave("get", { kind: "hang" });
  const hung = await errorOf(client.get(nodes, "a", call));
  assert.deepEqual([hung.status, hung.retryable], [0, true]);
  assert.match(hung.message, /does not answer \(no byte came for 0\.2 s\): check that the API/);
  server.misbehave("get", {
    kind: "answer",
    status: 200,
    headers: { "Content-Length": "100" },
    body: "{",
  });
  assert.match((await errorOf(client.get(nodes, "a", call))).message, /does not answer/);
  server.misbehave("get", { kind: "drop" }, 2);
  assert.match((await errorOf(client.get(nodes, "a", call))).message, /the connection to .* broke/);
});

test("a creation over a dead connection is not sent twice", async (t) => {
  const { server, client, call } = await stage(t);
  await client.get(nodes, "a", call);
  server.misbehave("write", { kind: "drop" });
  await errorOf(client.create(nodes, { metadata: { name: "b" } }, call));
  assert.equal(server.count("write"), 1);
});

test("an abort ends a request, a list and a watch, as interrupted", async (t) => {
  const { server, client } = await stage(t);
  for (const ask of [
    (signal: AbortSignal) => client.get(nodes, "a", { signal }),
    (signal: AbortSignal) => client.list(nodes, { signal }),
    (signal: AbortSignal) => Array.fromAsync(client.watch(nodes, { signal, timeoutSeconds: 60 })),
  ]) {
    const stop = new AbortController();
    const before = server.seen.length;
    server.misbehave("get", { kind: "hang" });
    server.misbehave("list", { kind: "hang" });
    const work = assert.rejects(ask(stop.signal), (error: unknown) => {
      assert.ok(error instanceof LarderError);
      return error.code === "interrupted";
    });
    await until("the request is there", () => server.seen.length > before);
    stop.abort();
    await work;
    await assert.rejects(ask(stop.signal), { code: "interrupted" });
  }
  await until("the watch is closed", () => server.watches.length === 0);
});

test("a watch that nobody reads on closes its connection", async (t) => {
  const { server, client, call } = await stage(t);
  for await (const event of client.watch(nodes, { ...call, timeoutSeconds: 60 })) {
    assert.equal(event.type, "ADDED");
    break;
  }
  await until("the watch is closed", () => server.watches.length === 0);
});

test("nobody who listens is an error that names the address", async (t) => {
  const { server, client, call } = await stage(t);
  const { port } = server;
  await server.stop();
  const { message, status } = await errorOf(client.get(nodes, "a", call));
  assert.equal(status, 0);
  assert.match(message, new RegExp(`nothing listens on 127\\.0\\.0\\.1:${port} \\(connection ref`));
});

test("a certificate of another authority, of another name, and none are told apart", async (t) => {
  const tls = await makeCertificates();
  const { server, call } = await stage(t, {}, { tls });
  const ask = async (change: Partial<Access>) => {
    const access = { ...server.access(), ...change };
    const client = new Client({ access, userAgent });
    t.after(() => client.close());
    return (await errorOf(client.get(nodes, "a", call))).message;
  };
  const other = (await makeCertificates()).ca;
  const given = (ca: string) => ({ tls: () => Promise.resolve({ ca, caSource: "/x/ca.crt" }) });
  assert.match(
    await ask(given(other)),
    /the certificate of .* is not signed by an authority of \/x\/ca\.crt \(.*check that \/x\/ca\.crt/,
  );
  const servername = () => Promise.resolve({ ca: tls.ca, servername: "elsewhere.example.com" });
  assert.match(await ask({ tls: servername }), /is for another name/);
  const plain = await startMisbehavingApiServer({ resource: nodes });
  t.after(() => plain.stop());
  const https = { server: new URL(`https://127.0.0.1:${plain.port}`), ...given(other) };
  assert.match(await ask(https), /does not speak https: check the address and port/);
});

test("a CA that changes is used for the next request, without a restart", async (t) => {
  const tls = await makeCertificates();
  const { server, call } = await stage(t, {}, { tls });
  let { ca } = await makeCertificates();
  const access: Access = { ...server.access(), tls: () => Promise.resolve({ ca }) };
  const client = new Client({ access, userAgent });
  t.after(() => client.close());
  await errorOf(client.get(nodes, "a", call));
  ca = tls.ca;
  assert.ok(await client.get(nodes, "a", call));
});

test("the environment's proxies are not for the API server", async (t) => {
  const { client, call } = await stage(t);
  const names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"];
  const before = names.map((name) => [name, process.env[name]] as const);
  t.after(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  for (const name of names) process.env[name] = "http://127.0.0.1:1";
  assert.ok(await client.get(nodes, "a", call));
});
