import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { TestContext } from "node:test";

import { basic } from "../../testbed/token-desk.ts";
import type { Fault } from "../../testbed/fault.ts";
import {
  bytesOf,
  client,
  dockerConfig,
  everythingOf,
  failureOf,
  sample,
  server,
} from "./client.ts";

const user = { username: "robot$account", password: "Tr0ub4dor&3/with+signs" };
const signature = "X-Amz-Signature=0123456789abcdef";
/** Everything that must never be seen, in every form in which it is sent. */
const secrets = [
  user.username,
  user.password,
  encodeURIComponent(user.password),
  basic(user).slice("Basic ".length),
  signature,
  "0123456789abcdef",
];

async function setting(t: TestContext, kind: "basic" | "bearer") {
  const at = await server(t, { authentication: { kind, user } });
  const store = await server(t);
  const image = sample();
  at.hold("team/app", "1", image);
  const configPath = await dockerConfig(t, { [at.host]: user });
  const from = client(t, { configPath, insecure: [at.host] });
  return { at, store, from, name: `${at.host}/team/app:1` };
}

/** Fails where an error or a notice shows a secret, a token that was given out included. */
function assertNothingShown(
  error: unknown,
  notices: readonly unknown[],
  tokens: readonly string[],
) {
  const shown = `${everythingOf(error)}\n${JSON.stringify(notices)}`;
  for (const secret of [...secrets, ...tokens]) {
    assert.ok(!shown.includes(secret), `shown: ${secret} in ${shown}`);
  }
}

suite("secrets never appear in errors, their causes, or notices", () => {
  const echo = (text: string): Fault => ({
    kind: "answer",
    status: 403,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ errors: [{ code: "DENIED", message: `you sent ${text}, go away` }] }),
  });

  for (const [what, text] of [
    ["the user name", user.username],
    ["the password", user.password],
    ["the password percent-encoded", encodeURIComponent(user.password)],
    ["the Authorization header", basic(user)],
    ["a URL with a query", `https://store.example.com/x?${signature}`],
  ] as const) {
    test(`when a registry echoes ${what}`, async (t) => {
      const { at, from, name } = await setting(t, "basic");
      await from.image(name);
      at.misbehave(/manifests/, echo(text));
      const error = await failureOf(from.image(name));
      assert.match(error.message, /DENIED: you sent .*go away/);
      assertNothingShown(error, from.notices, []);
    });
  }

  test("when a registry echoes the token", async (t) => {
    const { at, from, name } = await setting(t, "bearer");
    await from.image(name);
    const issued = at.tokens?.issued ?? [];
    assert.equal(issued.length, 1);
    at.misbehave(/manifests/, echo(`Bearer ${issued[0]}`));
    const error = await failureOf(from.image(name));
    assert.match(error.message, /you sent Bearer \*\*\*/);
    assertNothingShown(error, from.notices, issued);
  });

  test("when a registry echoes a token, the password or the user name, however many tokens came since", async (t) => {
    const { at, from, name } = await setting(t, "bearer");
    await from.image(name);
    for (let n = 0; n < 250; n++) await failureOf(from.image(`${at.host}/other/${n}:1`));
    const issued = at.tokens?.issued ?? [];
    assert.equal(issued.length, 251);
    at.misbehave(/manifests/, echo(`${issued[0]} ${user.password} ${user.username}`));
    const error = await failureOf(from.image(name));
    assert.match(error.message, /you sent \*\*\* \*\*\* \*\*\*, go away/);
    assertNothingShown(error, from.notices, issued);
  });

  test("when a token server echoes what it got, or answers half a token", async (t) => {
    for (const body of [
      `{"token": "${user.password}`,
      JSON.stringify({ errors: [{ code: "UNAUTHORIZED", message: basic(user) }] }),
    ]) {
      for (const status of [200, 401, 500]) {
        const { at, from, name } = await setting(t, "bearer");
        at.misbehave(/^\/token/, { kind: "answer", status, body }, Infinity);
        assertNothingShown(await failureOf(from.image(name)), from.notices, []);
      }
    }
  });

  for (const [what, fault] of [
    ["fails", { kind: "answer", status: 500, body: `<Error>${signature}</Error>` }],
    ["refuses", { kind: "answer", status: 403, body: `{"errors":[{"message":"${signature}"}]}` }],
    ["drops the connection", { kind: "drop" }],
    ["cuts the connection", { kind: "cut", after: 0 }],
    ["sends a web page", { kind: "answer", status: 200, headers: { "Content-Type": "text/html" } }],
    ["redirects in a loop", { kind: "redirect", to: `/signed?${signature}` }],
    ["redirects to nowhere", { kind: "redirect", to: `http://[x?${signature}` }],
    ["redirects to ftp", { kind: "redirect", to: `ftp://store.example.com/x?${signature}` }],
  ] as const) {
    test(`the query of a redirect's URL, when the place it leads to ${what}`, async (t) => {
      const { at, store, from, name } = await setting(t, "basic");
      const pulled = await from.image(name);
      store.file("/signed", Buffer.alloc(300_000));
      store.misbehave(/signed/, fault, Infinity);
      at.misbehave(/blobs/, { kind: "redirect", to: `${store.url}/signed?${signature}` }, Infinity);
      const error = await failureOf(bytesOf(pulled.layers[0]));
      assertNothingShown(error, from.notices, []);
    });
  }

  test("a password too short to be cut out takes the registry's words with it", async (t) => {
    const at = await server(t);
    const short = { username: "ab", password: "xyz" };
    at.hold("team/app", "1", sample());
    const from = client(t, {
      configPath: await dockerConfig(t, { [at.host]: short }),
      insecure: [at.host],
    });
    const headers = { "WWW-Authenticate": "Basic" };
    at.misbehave(/manifests/, { kind: "answer", status: 401, headers });
    at.misbehave(/manifests/, echo("xyz"));
    const error = await failureOf(from.image(`${at.host}/team/app:1`));
    assert.match(error.message, /403 Forbidden/);
    assert.ok(!error.message.includes("xyz"));
  });
});
