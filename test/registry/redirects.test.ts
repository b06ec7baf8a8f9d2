import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import type { TestContext } from "node:test";

import { makeCertificates } from "../../testbed/certificates.ts";
import type { Certificates } from "../../testbed/certificates.ts";
import { bytesOf, client, dockerConfig, failureOf, fileWith, sample, server } from "./client.ts";

const user = { username: "robot", password: "s3cret-password" };
const blobs = /\/blobs\//;

suite("redirects", () => {
  let tls: Certificates;
  before(async () => {
    tls = await makeCertificates();
  });

  /** A registry with Basic authentication, a blob store, and a client that has the password. */
  async function withStore(t: TestContext, { storeTls = false, registryTls = false } = {}) {
    const authentication = { kind: "basic", user } as const;
    const at = await server(t, { authentication, ...(registryTls && { tls }) });
    const store = await server(t, storeTls ? { tls } : {});
    const image = sample();
    at.hold("team/app", "1", image);
    const blob = image.layers[0]?.blob ?? Buffer.alloc(0);
    store.file("/signed", blob);
    const configPath = await dockerConfig(t, { [at.host]: user, [store.host]: user });
    const caPath = await fileWith(t, tls.ca, "ca.pem");
    const insecure = registryTls ? [] : [at.host];
    const from = client(t, { configPath, caPath, insecure });
    const pulled = await from.image(`${at.host}/team/app:1`);
    return { at, store, from, layer: pulled.layers[0], blob, name: `${at.host}/team/app:1` };
  }

  test("a redirect to another port drops the Authorization header", async (t) => {
    const { at, store, layer, blob } = await withStore(t);
    at.misbehave(blobs, { kind: "redirect", to: `${store.url}/signed?signature=abc` });
    assert.deepEqual(await bytesOf(layer), blob);
    assert.equal(store.seen.length, 1);
    assert.equal(store.seen[0]?.headers.authorization, undefined);
    assert.equal(store.seen[0]?.path, "/signed?signature=abc");
  });

  test("a redirect to another host drops the Authorization header", async (t) => {
    const { at, layer, blob } = await withStore(t);
    const store = await server(t, { address: "127.0.0.2" });
    store.file("/signed", blob);
    at.misbehave(blobs, { kind: "redirect", to: `${store.url}/signed` });
    assert.deepEqual(await bytesOf(layer), blob);
    assert.equal(store.seen[0]?.headers.authorization, undefined);
  });

  test("a redirect to another scheme drops the Authorization header", async (t) => {
    const { at, store, layer, blob } = await withStore(t, { storeTls: true });
    at.misbehave(blobs, { kind: "redirect", to: `${store.url}/signed` });
    assert.deepEqual(await bytesOf(layer), blob);
    assert.equal(store.seen[0]?.headers.authorization, undefined);
  });

  test("a redirect within the registry keeps the Authorization header", async (t) => {
    const { at, layer, blob } = await withStore(t);
    at.file("/elsewhere", blob);
    at.misbehave(blobs, { kind: "redirect", to: "/elsewhere" });
    assert.deepEqual(await bytesOf(layer), blob);
    assert.match(at.seen.at(-1)?.headers.authorization ?? "", /^Basic /);
  });

  test("credentials do not come back when a redirect returns to the registry from elsewhere", async (t) => {
    const { at, store, layer, blob } = await withStore(t);
    at.file("/elsewhere", blob);
    at.misbehave(blobs, { kind: "redirect", to: `${store.url}/back` });
    store.misbehave(/back/, { kind: "redirect", to: `${at.url}/elsewhere` });
    assert.deepEqual(await bytesOf(layer), blob);
    assert.equal(at.seen.at(-1)?.headers.authorization, undefined);
  });

  for (const status of [301, 302, 303, 307, 308]) {
    test(`a ${status} is followed`, async (t) => {
      const { at, store, layer, blob } = await withStore(t);
      at.misbehave(blobs, { kind: "redirect", to: `${store.url}/signed`, status });
      assert.deepEqual(await bytesOf(layer), blob);
    });
  }

  test("a resumed blob asks the registry again, and takes the Range along to where it is sent", async (t) => {
    const { at, store, layer, blob } = await withStore(t);
    at.misbehave(blobs, { kind: "redirect", to: `${store.url}/signed` }, 2);
    store.misbehave(/signed/, { kind: "cut", after: 100_000 });
    assert.deepEqual(await bytesOf(layer), blob);
    assert.deepEqual(
      store.seen.map(({ headers }) => headers.range),
      [undefined, "bytes=100000-"],
    );
  });

  test("a redirect loop ends after 10 redirects, as a registry error", async (t) => {
    const { at, layer } = await withStore(t);
    at.misbehave(/loop|blobs/, { kind: "redirect", to: "/loop" }, Infinity);
    at.seen.length = 0;
    const error = await failureOf(bytesOf(layer));
    assert.equal(error.code, "registry");
    assert.match(error.message, /more than 10 redirects/);
    assert.equal(at.seen.length, 11);
  });

  test("a redirect from https to plain http is refused", async (t) => {
    const { at, store, layer } = await withStore(t, { registryTls: true });
    at.misbehave(blobs, { kind: "redirect", to: `${store.url}/signed` });
    const error = await failureOf(bytesOf(layer));
    assert.equal(error.code, "registry");
    assert.match(error.message, /from https to plain http/);
    assert.equal(store.seen.length, 0);
  });

  for (const to of [
    "file:///etc/shadow",
    "ftp://127.0.0.1/x",
    "data:text/plain,x",
    "gopher://x/",
  ]) {
    test(`a redirect to anything but http and https is refused: ${to}`, async (t) => {
      const { at, layer } = await withStore(t);
      at.misbehave(blobs, { kind: "redirect", to });
      const error = await failureOf(bytesOf(layer));
      assert.equal(error.code, "registry");
      assert.match(error.message, /does not follow/);
    });
  }

  for (const to of ["http://169.254.169.254/latest", "http://[fe80::1]/x", "http://0xa9fea9fe/x"]) {
    test(`a redirect to a link-local address is refused: ${to}`, async (t) => {
      const { at, layer } = await withStore(t);
      at.misbehave(blobs, { kind: "redirect", to });
      const error = await failureOf(bytesOf(layer));
      assert.match(error.message, /link-local/);
    });
  }

  test("a redirect without a usable Location is a registry error", async (t) => {
    const { at, layer } = await withStore(t);
    at.misbehave(blobs, { kind: "redirect", to: "http://[broken" });
    const error = await failureOf(bytesOf(layer));
    assert.equal(error.code, "registry");
    assert.doesNotMatch(error.message, /broken/);
  });

  test("user name and password in a redirect's URL are not sent", async (t) => {
    const { at, store, layer, blob } = await withStore(t);
    const to = `http://robot:hidden@${store.host}/signed`;
    at.misbehave(blobs, { kind: "redirect", to });
    assert.deepEqual(await bytesOf(layer), blob);
    assert.equal(store.seen[0]?.headers.authorization, undefined);
  });
});
