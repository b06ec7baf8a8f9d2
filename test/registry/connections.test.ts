import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { before, suite, test } from "node:test";
import type { TestContext } from "node:test";

import { makeCertificates } from "../../testbed/certificates.ts";
import type { Certificates } from "../../testbed/certificates.ts";
import { ForwardProxy } from "../../testbed/forward-proxy.ts";
import {
  bytesOf,
  client,
  everythingOf,
  failureOf,
  fileWith,
  pair,
  sample,
  server,
} from "./client.ts";

let tls: Certificates;
before(async () => {
  tls = await makeCertificates(["registry.test"]);
});

async function overTls(t: TestContext, certificates = tls) {
  const at = await server(t, { tls: certificates });
  const image = sample();
  at.hold("team/app", "1", image);
  return { at, image, name: `${at.host}/team/app:1` };
}

suite("connections over https", () => {
  test("a registry whose authority is given with --registry-ca is trusted", async (t) => {
    const { name, image } = await overTls(t);
    const from = client(t, { caPath: await fileWith(t, tls.ca, "ca.pem") });
    const pulled = await from.image(name);
    assert.deepEqual(await bytesOf(pulled.layers[0]), image.layers[0]?.blob);
  });

  test("a certificate of an unknown authority is refused at once, naming --registry-ca and --insecure-registry", async (t) => {
    const { at, name } = await overTls(t);
    const from = client(t);
    const error = await failureOf(from.image(name));
    assert.equal(error.code, "network");
    assert.match(error.message, /certificate.*not signed by.*--registry-ca.*--insecure-registry/);
    assert.ok(error.message.includes(at.host));
    assert.deepEqual(from.notices, []);
    assert.equal(at.seen.length, 0);
  });

  test("a certificate for another name is refused, with the name that it has", async (t) => {
    const { at } = await overTls(t);
    const from = client(t, {
      caPath: await fileWith(t, tls.ca, "ca.pem"),
      lookup: (_, options, callback) => {
        if (options.all === true) callback(null, [{ address: "127.0.0.1", family: 4 }]);
        else callback(null, "127.0.0.1", 4);
      },
    });
    const error = await failureOf(from.image(`other.test:${at.port}/team/app:1`));
    assert.equal(error.code, "network");
    assert.match(error.message, /is for another name.*registry\.test/);
  });

  test("a CA file that changes is read again", async (t) => {
    const { name } = await overTls(t);
    const other = await makeCertificates();
    const caPath = await fileWith(t, other.ca, "ca.pem");
    const from = client(t, { caPath });
    assert.equal((await failureOf(from.image(name))).code, "network");
    await writeFile(caPath, `${other.ca}\n${tls.ca}`);
    await from.image(name);
  });

  test("plain http at a registry that was not allowed it is refused, naming --insecure-registry", async (t) => {
    const { at, name } = await pair(t);
    const from = client(t);
    const error = await failureOf(from.image(name));
    assert.equal(error.code, "network");
    assert.match(error.message, /does not speak https.*--insecure-registry/);
    assert.equal(at.seen.length, 0);
  });

  test("loopback is not insecure by itself", async (t) => {
    const { name } = await overTls(t);
    assert.equal((await failureOf(client(t).image(name))).code, "network");
  });
});

suite("insecure registries", () => {
  test("https without verification is used where the host speaks it", async (t) => {
    const { at, name } = await overTls(t);
    const from = client(t, { insecure: [at.host] });
    await from.image(name);
    assert.equal(at.seen.length, 2);
  });

  test("plain http is used where the host does not speak https", async (t) => {
    const { from, name, image } = await pair(t);
    assert.equal((await from.image(name)).digest, image.digest);
  });

  test("a host that answered over plain http is not asked over https again", async (t) => {
    const { at, from, name } = await pair(t);
    await from.image(name);
    const { accepted } = at;
    await from.image(name);
    assert.equal(at.accepted, accepted);
  });

  test("only the host and port that were named are insecure", async (t) => {
    const { at, name } = await overTls(t);
    const from = client(t, { insecure: ["127.0.0.1", `127.0.0.1:${at.port + 1}`] });
    assert.equal((await failureOf(from.image(name))).code, "network");
  });

  test("an insecure registry that is down says so, and not that it lacks https", async (t) => {
    const gone = await server(t);
    const { host } = gone;
    await gone.stop();
    const error = await failureOf(client(t, { insecure: [host] }).image(`${host}/team/app:1`));
    assert.match(error.message, /nothing listens on/);
  });

  test("a malformed insecure registry is a usage error", (t) => {
    for (const entry of ["http://registry.test", "registry.test/path", "a b", ""]) {
      assert.throws(() => client(t, { insecure: [entry] }), { code: "usage" });
    }
  });
});

suite("proxies", () => {
  const user = { username: "proxy user", password: "proxy:p@ssword" };

  async function proxied(t: TestContext, port: number, allowed = user) {
    const proxy = new ForwardProxy(port, allowed);
    await proxy.listen();
    t.after(() => proxy.stop());
    const login = `${encodeURIComponent(user.username)}:${encodeURIComponent(user.password)}`;
    return { proxy, url: `http://${login}@${proxy.host}` };
  }

  test("https goes through HTTPS_PROXY by CONNECT, with the user and password of its URL", async (t) => {
    const { at, image } = await overTls(t);
    const { proxy, url } = await proxied(t, at.port);
    const caPath = await fileWith(t, tls.ca, "ca.pem");
    const from = client(t, { environment: { HTTPS_PROXY: url }, caPath });
    const pulled = await from.image("registry.test/team/app:1");
    assert.deepEqual(await bytesOf(pulled.layers[0]), image.layers[0]?.blob);
    assert.deepEqual([...new Set(proxy.seen)], ["CONNECT registry.test:443"]);
  });

  test("http goes through HTTP_PROXY", async (t) => {
    const { at, image } = await pair(t);
    const { proxy, url } = await proxied(t, at.port);
    const insecure = ["registry.test"];
    const from = client(t, { environment: { HTTP_PROXY: url, HTTPS_PROXY: url }, insecure });
    const pulled = await from.image("registry.test/team/app:1");
    assert.equal(pulled.digest, image.digest);
    assert.ok(proxy.seen.includes("GET http://registry.test/v2/team/app/manifests/1"));
  });

  test("a host that NO_PROXY names is asked directly", async (t) => {
    const { at } = await overTls(t);
    const { proxy, url } = await proxied(t, at.port);
    const from = client(t, {
      environment: { HTTPS_PROXY: url, NO_PROXY: "registry.test" },
      caPath: await fileWith(t, tls.ca, "ca.pem"),
      lookup: (_, options, callback) => {
        if (options.all === true) callback(null, [{ address: "127.0.0.1", family: 4 }]);
        else callback(null, "127.0.0.1", 4);
      },
    });
    await from.image(`registry.test:${at.port}/team/app:1`);
    assert.deepEqual(proxy.seen, []);
  });

  test("a proxy that refuses is named without its password, with its status", async (t) => {
    const { at } = await overTls(t);
    const { proxy, url } = await proxied(t, at.port, { username: "x", password: "y" });
    const from = client(t, { environment: { HTTPS_PROXY: url } });
    const error = await failureOf(from.image("registry.test/team/app:1"));
    assert.equal(error.code, "network");
    assert.match(error.message, /proxy does not let it through: it answered 407/);
    assert.ok(error.message.includes(proxy.host));
    const all = everythingOf(error);
    assert.ok(!all.includes(user.password) && !all.includes(encodeURIComponent(user.password)));
  });
});
