import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { TestContext } from "node:test";

import type { RegistryOptions } from "../../src/registry/registry.ts";
import type { MisbehavingRegistry } from "../../testbed/misbehaving-registry.ts";
import { basic } from "../../testbed/token-desk.ts";
import type { Authentication } from "../../testbed/token-desk.ts";
import { until } from "../../testbed/until.ts";
import {
  bytesOf,
  client,
  dockerConfig,
  failureOf,
  fileWith,
  pair,
  sample,
  server,
} from "./client.ts";

const user = {
  username: "robot",
  password: "s3cret:with-colon",
  refreshToken: "refresh-me-please",
};

/** A server that asks for authentication, and a client of it with the given credentials. */
async function guarded(
  t: TestContext,
  authentication: Authentication,
  options: Partial<RegistryOptions> & {
    credentials?: (host: string) => Promise<string> | undefined;
  } = {},
) {
  const at = await server(t, { authentication });
  const image = sample();
  at.hold("team/app", "1", image);
  at.hold("team/other", "1", image);
  const { credentials, ...rest } = options;
  const configPath = await credentials?.(at.host);
  const insecure = [at.host, ...(rest.insecure ?? [])];
  const from = client(t, { ...rest, insecure, ...(configPath !== undefined && { configPath }) });
  return { at, from, image, name: `${at.host}/team/app:1` };
}

const tokenRequests = (at: MisbehavingRegistry) =>
  at.seen.filter(({ path }) => path.startsWith("/token"));
const withUser = (t: TestContext) => (host: string) => dockerConfig(t, { [host]: user });

suite("authentication", () => {
  test("anonymous first: the first request carries no credentials, though there are some", async (t) => {
    const { at, from, name } = await guarded(
      t,
      { kind: "basic", user },
      { credentials: withUser(t) },
    );
    await from.image(name);
    assert.equal(at.seen[0]?.headers.authorization, undefined);
  });

  test("a 401 with a Basic challenge is answered with user name and password", async (t) => {
    const { at, from, name, image } = await guarded(
      t,
      { kind: "basic", user },
      { credentials: withUser(t) },
    );
    const pulled = await from.image(name);
    assert.deepEqual(await bytesOf(pulled.layers[0]), image.layers[0]?.blob);
    assert.equal(at.seen[1]?.headers.authorization, basic(user));
    assert.equal(at.seen.filter(({ headers }) => headers.authorization === undefined).length, 1);
  });

  test("a 401 with a Bearer challenge is answered with a token for its realm, service and scope", async (t) => {
    const { at, from, name, image } = await guarded(t, { kind: "bearer", service: "our service" });
    const pulled = await from.image(name);
    assert.equal(pulled.digest, image.digest);
    const [asked] = tokenRequests(at);
    const query = new URL(asked?.path ?? "", at.url).searchParams;
    assert.equal(query.get("service"), "our service");
    assert.deepEqual(query.getAll("scope"), ["repository:team/app:pull"]);
    assert.equal(asked?.headers.authorization, undefined);
  });

  test("a Bearer challenge without a scope is answered for pulling from the repository", async (t) => {
    const { at, from, name } = await guarded(t, { kind: "bearer", withoutScope: true });
    await from.image(name);
    assert.match(tokenRequests(at)[0]?.path ?? "", /scope=repository%3Ateam%2Fapp%3Apull/);
  });

  test("a token is got with user name and password where there are some", async (t) => {
    const { at, from, name } = await guarded(
      t,
      { kind: "bearer", user },
      { credentials: withUser(t) },
    );
    await from.image(name);
    assert.equal(tokenRequests(at)[0]?.headers.authorization, basic(user));
  });

  test("an identity token is exchanged for a token by POST", async (t) => {
    const { at, from, name } = await guarded(
      t,
      { kind: "bearer", user },
      {
        credentials: (host) =>
          fileWith(t, JSON.stringify({ auths: { [host]: { identitytoken: user.refreshToken } } })),
      },
    );
    await from.image(name);
    assert.equal(tokenRequests(at)[0]?.method, "POST");
    assert.ok(!tokenRequests(at)[0]?.path.includes(user.refreshToken));
  });

  test("a registry token is used as it is, without a token server", async (t) => {
    const at = await server(t, { authentication: { kind: "bearer" } });
    at.hold("team/app", "1", sample());
    const token = await fetch(`${at.url}/token`).then((answer) => answer.json());
    assert.ok(typeof token === "object" && token !== null && "token" in token);
    const config = { auths: { [at.host]: { registrytoken: token.token } } };
    const configPath = await fileWith(t, JSON.stringify(config));
    const from = client(t, { insecure: [at.host], configPath });
    await from.image(`${at.host}/team/app:1`);
    assert.equal(tokenRequests(at).length, 1);
  });

  test("the credential of the longest matching path is used", async (t) => {
    const { from, name } = await guarded(
      t,
      { kind: "basic", user },
      {
        credentials: (host) =>
          dockerConfig(t, {
            [host]: { username: "somebody", password: "else" },
            [`${host}/team/app`]: user,
          }),
      },
    );
    await from.image(name);
  });

  test("a token is cached: one for manifest, config and blobs of a repository", async (t) => {
    const { at, from, name } = await guarded(t, { kind: "bearer", expiresIn: 300 });
    await bytesOf((await from.image(name)).layers[0]);
    await from.image(name);
    assert.equal(tokenRequests(at).length, 1);
  });

  test("tokens are cached by repository: another repository gets its own", async (t) => {
    const { at, from, name } = await guarded(t, { kind: "bearer" });
    await from.image(name);
    await from.image(`${at.host}/team/other:1`);
    assert.deepEqual(
      tokenRequests(at).map(({ path }) => new URL(path, at.url).searchParams.get("scope")),
      ["repository:team/app:pull", "repository:team/other:pull"],
    );
  });

  test("tokens are cached by registry: another registry never gets this one's", async (t) => {
    const other = await server(t, { authentication: { kind: "bearer" } });
    other.hold("team/app", "1", sample());
    const { at, from, name } = await guarded(t, { kind: "bearer" }, { insecure: [other.host] });
    await from.image(name);
    await from.image(`${other.host}/team/app:1`);
    assert.equal(tokenRequests(at).length, 1);
    assert.equal(tokenRequests(other).length, 1);
    assert.equal(other.seen[0]?.headers.authorization, undefined);
  });

  test("a token is refreshed before it expires, by the lifetime that its server says", async (t) => {
    const { at, from, name } = await guarded(t, { kind: "bearer", expiresIn: 300 });
    await from.image(name);
    from.clock.leap(289_000);
    await from.image(name);
    assert.equal(tokenRequests(at).length, 1);
    from.clock.leap(2_000);
    at.seen.length = 0;
    await from.image(name);
    assert.ok(at.seen[0]?.path.startsWith("/token"), "before any request that would be refused");
  });

  test("a token whose server says no lifetime is good for 60 s", async (t) => {
    const { at, from, name } = await guarded(t, { kind: "bearer" });
    await from.image(name);
    from.clock.leap(49_000);
    await from.image(name);
    assert.equal(tokenRequests(at).length, 1);
    from.clock.leap(2_000);
    await from.image(name);
    assert.equal(tokenRequests(at).length, 2);
  });

  test("a 401 in the middle of a pull refreshes the token, once a request, and goes on", async (t) => {
    const { at, from, name, image } = await guarded(t, { kind: "bearer", expiresIn: 3600 });
    const pulled = await from.image(name);
    at.tokens?.revoke();
    at.misbehave(/\/blobs\//, { kind: "cut", after: 0 });
    assert.deepEqual(await bytesOf(pulled.layers[0]), image.layers[0]?.blob);
    assert.equal(tokenRequests(at).length, 2);
  });

  test("a 401 that stays is an auth error after one refresh", async (t) => {
    const { at, from, name } = await guarded(t, { kind: "bearer", expiresIn: 3600 });
    await from.image(name);
    const headers = { "WWW-Authenticate": `Bearer realm="${at.url}/token"` };
    at.misbehave(/manifests/, { kind: "answer", status: 401, headers }, Infinity);
    at.seen.length = 0;
    const error = await failureOf(from.image(name));
    assert.equal(error.code, "auth");
    assert.equal(at.seen.length, 3);
  });

  test("many requests that are refused at once get one new token together", async (t) => {
    const { at, from, name } = await guarded(t, { kind: "bearer", expiresIn: 3600 });
    const { layers } = await from.image(name);
    at.tokens?.revoke();
    await Promise.all([1, 2, 3, 4].map(() => bytesOf(layers[0])));
    assert.equal(tokenRequests(at).length, 2);
  });

  test("no credentials for a registry that wants some: auth, saying how to give them", async (t) => {
    for (const how of [
      { kind: "basic", user },
      { kind: "bearer", user },
    ] as const) {
      const { from, name } = await guarded(t, how);
      const error = await failureOf(from.image(name));
      assert.equal(error.code, "auth");
      assert.match(
        error.message,
        /no credentials for it were found: `docker login`.*--registry-config/,
      );
      assert.ok(error.message.includes("team/app"));
    }
  });

  test("wrong credentials: auth, naming who refused them and never what they are", async (t) => {
    const wrong = { username: "robot", password: "not-the-password" };
    const credentials = (host: string) => dockerConfig(t, { [host]: wrong });
    for (const how of [
      { kind: "basic", user },
      { kind: "bearer", user },
    ] as const) {
      const { at, from, name } = await guarded(t, how, { credentials });
      const error = await failureOf(from.image(name));
      assert.equal(error.code, "auth");
      assert.match(error.message, /401 Unauthorized.*check.*credentials/);
      assert.ok(error.message.includes(at.host));
      assert.ok(!error.message.includes(wrong.password));
    }
  });

  test("an authentication scheme that Larder does not know is named", async (t) => {
    const { at, from, name } = await pair(t);
    const headers = { "WWW-Authenticate": "Negotiate, NTLM" };
    at.misbehave(/manifests/, { kind: "answer", status: 401, headers });
    const error = await failureOf(from.image(name));
    assert.equal(error.code, "auth");
    assert.match(error.message, /negotiate, ntlm/);
  });

  test("a token server that fails for a while is tried again", async (t) => {
    const { at, from, name, image } = await guarded(t, { kind: "bearer" });
    at.misbehave(/^\/token/, { kind: "answer", status: 503, headers: { "Retry-After": "7" } });
    // Twice: the first hits a kept-open connection, whose end is no failure.
    at.misbehave(/^\/token/, { kind: "drop" }, 2);
    assert.equal((await from.image(name)).digest, image.digest);
    assert.deepEqual(from.clock.sleeps, [7_000, 1_500]);
  });

  for (const [what, body] of [
    ["is not JSON", "<html>log in</html>"],
    ["holds no token", "{}"],
    ["holds a token that would forge a header", JSON.stringify({ token: "a\r\nX-Forged: 1" })],
    ["is over 1 MiB", JSON.stringify({ token: "x".repeat(1_100_000) })],
  ] as const) {
    test(`a token server's answer that ${what} is an auth error naming the server`, async (t) => {
      const { at, from, name } = await guarded(t, { kind: "bearer" });
      at.misbehave(/^\/token/, { kind: "answer", status: 200, body }, Infinity);
      const error = await failureOf(from.image(name));
      assert.equal(error.code, "auth");
      assert.ok(error.message.includes(`http://${at.host}/token`));
    });
  }

  test("a token server's redirect is not followed", async (t) => {
    const elsewhere = await server(t);
    const { at, from, name } = await guarded(
      t,
      { kind: "bearer", user },
      { credentials: withUser(t) },
    );
    at.misbehave(/^\/token/, { kind: "redirect", to: `${elsewhere.url}/token?x=1` }, Infinity);
    const error = await failureOf(from.image(name));
    assert.equal(error.code, "auth");
    assert.match(error.message, /redirects to/);
    assert.equal(elsewhere.seen.length, 0);
  });

  test("a token realm over plain http is followed to the same insecure host only", async (t) => {
    const elsewhere = await server(t, { authentication: { kind: "bearer" } });
    const realm = `${elsewhere.url}/token`;
    const { from, name } = await guarded(
      t,
      { kind: "bearer", realm, user },
      { credentials: withUser(t), insecure: [elsewhere.host] },
    );
    const error = await failureOf(from.image(name));
    assert.equal(error.code, "auth");
    assert.match(error.message, /plain http/);
    assert.equal(elsewhere.seen.length, 0);
  });

  for (const realm of [
    "https://169.254.169.254/token",
    "https://2852039166/token",
    "https://0xa9fea9fe/token",
    "https://[::ffff:169.254.169.254]/token",
    "https://[fe80::1]/token",
  ]) {
    test(`a token realm at a link-local address is never followed: ${realm}`, async (t) => {
      const { from, name } = await guarded(t, { kind: "bearer", realm });
      const error = await failureOf(from.image(name));
      assert.equal(error.code, "auth");
      assert.match(error.message, /link-local/);
    });
  }

  test("a token realm whose name stands for a link-local address is never followed", async (t) => {
    const realm = "https://innocent.example.com/token";
    const { from, name } = await guarded(
      t,
      { kind: "bearer", realm },
      {
        lookup: (_, options, callback) => {
          if (options.all === true) callback(null, [{ address: "169.254.169.254", family: 4 }]);
          else callback(null, "169.254.169.254", 4);
        },
      },
    );
    const error = await failureOf(from.image(name));
    assert.equal(error.code, "network");
    assert.match(error.message, /link-local/);
  });

  test("a challenge that comes from behind a redirect to another host is never answered", async (t) => {
    const thief = await server(t, { authentication: { kind: "basic", user } });
    const { at, from, name } = await guarded(
      t,
      { kind: "basic", user },
      { credentials: withUser(t) },
    );
    await from.image(name);
    at.misbehave(/manifests/, { kind: "redirect", to: `${thief.url}/v2/team/app/manifests/1` });
    const error = await failureOf(from.image(name));
    assert.equal(error.code, "auth");
    assert.equal(thief.seen.length, 1);
    assert.equal(thief.seen[0]?.headers.authorization, undefined);
  });

  test("an abort while a token is awaited ends the wait", async (t) => {
    const { at, from, name } = await guarded(t, { kind: "bearer" });
    at.misbehave(/^\/token/, { kind: "stall" });
    const stop = new AbortController();
    const pulled = failureOf(from.image(name, stop.signal));
    await until("the token server is asked", () => tokenRequests(at).length > 0);
    stop.abort();
    assert.equal((await pulled).code, "interrupted");
  });
});
