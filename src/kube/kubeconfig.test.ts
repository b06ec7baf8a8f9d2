import assert from "node:assert/strict";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { tempDirectory } from "../../testbed/temp-directory.ts";
import { chooseAccess } from "./access-choice.ts";
import { kubeconfigAccess } from "./kubeconfig.ts";

interface Parts {
  readonly cluster?: object | undefined;
  readonly user?: object | undefined;
  readonly current?: string;
}

const ca = "-----BEGIN CERTIFICATE-----\nca\n-----END CERTIFICATE-----\n";
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** One context `here`, as JSON, which is YAML. */
function configOf({ cluster = {}, user = {}, current = "here" }: Parts): string {
  const server = "https://api.example.com:6443";
  const data = base64(ca);
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "there", cluster: { server: "https://other.example.com" } },
      { name: "c", cluster: { server, "certificate-authority-data": data, ...cluster } },
    ],
    users: [
      { name: "u", user },
      { name: "other", user: { token: "token-of-other" } },
    ],
    contexts: [
      { name: "elsewhere", context: { cluster: "there", user: "other" } },
      { name: "here", context: { cluster: "c", user: "u" } },
      { name: "anonymous", context: { cluster: "c" } },
      { name: "no-cluster", context: { cluster: "gone", user: "u" } },
      { name: "no-user", context: { cluster: "c", user: "gone" } },
    ],
    "current-context": current,
  });
}

async function written(t: TestContext, content: string): Promise<string> {
  const path = join(await tempDirectory(t), "config");
  await writeFile(path, content);
  return path;
}

async function access(t: TestContext, parts: Parts) {
  return kubeconfigAccess(await written(t, configOf(parts)));
}

test("a token is sent as a bearer, and the CA is the cluster's", async (t) => {
  const path = await written(t, configOf({ user: { token: "token-of-mine" } }));
  const { server, tls, authorization, proxy } = await kubeconfigAccess(path);
  assert.equal(server.href, "https://api.example.com:6443/");
  assert.equal(await authorization(), "Bearer token-of-mine");
  assert.deepEqual(await tls(), { ca, caSource: `the kubeconfig ${path}` });
  assert.equal(proxy, undefined);
});

test("a client certificate and its key are taken from data, or from files beside the kubeconfig", async (t) => {
  const data = { "client-certificate-data": base64("cert"), "client-key-data": base64("key") };
  const embedded = await access(t, { user: data });
  const { cert, key } = await embedded.tls();
  assert.deepEqual({ cert, key }, { cert: "cert", key: "key" });
  assert.equal(await embedded.authorization(), undefined);

  const dir = await tempDirectory(t);
  for (const name of ["cert", "key", "ca"]) await writeFile(join(dir, name), `${name} file`);
  const user = { "client-certificate": "cert", "client-key": "key" };
  const cluster = { "certificate-authority-data": undefined, "certificate-authority": "ca" };
  await writeFile(join(dir, "config"), configOf({ user, cluster }));
  assert.deepEqual(await (await kubeconfigAccess(join(dir, "config"))).tls(), {
    ca: "ca file",
    caSource: join(dir, "ca"),
    cert: "cert file",
    key: "key file",
  });
});

test("of several contexts the current one counts", async (t) => {
  const { server, authorization } = await access(t, { current: "elsewhere" });
  assert.equal(server.host, "other.example.com");
  assert.equal(await authorization(), "Bearer token-of-other");
});

test("a context without a user is anonymous, and trusts the cluster's CA all the same", async (t) => {
  const { tls, authorization } = await access(t, { current: "anonymous" });
  assert.equal(await authorization(), undefined);
  assert.equal((await tls()).ca, ca);
});

test("user and password, another server name, unverified servers, impersonation and a proxy are honoured", async (t) => {
  const user = { username: "me", password: "pass", as: "somebody" };
  const cluster = {
    "tls-server-name": "name.example.com",
    "insecure-skip-tls-verify": true,
    "proxy-url": "http://proxy.example.com:3128",
  };
  const { tls, authorization, headers, proxy } = await access(t, { user, cluster });
  assert.equal(await authorization(), `Basic ${base64("me:pass")}`);
  const { servername, rejectUnauthorized } = await tls();
  assert.deepEqual([servername, rejectUnauthorized], ["name.example.com", false]);
  assert.deepEqual(headers, { "Impersonate-User": "somebody" });
  assert.equal(proxy?.href, "http://proxy.example.com:3128/");
});

test("credentials are never sent over plain http", async (t) => {
  const { authorization } = await access(t, {
    cluster: { server: "http://127.0.0.1:8001" },
    user: { token: "token-of-mine" },
  });
  assert.equal(await authorization(), undefined);
});

/** A credential plug-in that counts how often it ran, and prints what `print` does. */
async function plugin(t: TestContext, print: string) {
  const dir = await tempDirectory(t);
  await mkdir(join(dir, "bin"));
  const program = join(dir, "bin", "plugin");
  const runs = join(dir, "runs");
  await writeFile(program, `#!/bin/sh\necho run >> ${runs}\n${print}\n`);
  await chmod(program, 0o755);
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "./bin/plugin" };
  await writeFile(join(dir, "config"), configOf({ user: { exec } }));
  return {
    path: join(dir, "config"),
    dir,
    runs: async () => (await readFile(runs, "utf8")).split("\n").length - 1,
  };
}

const credential = (token: string) =>
  `echo '{"kind":"ExecCredential","status":{"token":"${token}"}}'`;

test("a credential plug-in is run as kubectl runs it, once for many requests, and again after a 401", async (t) => {
  const print = `printf %s "$KUBERNETES_EXEC_INFO" > "$(dirname "$0")/info"\n${credential("made")}`;
  const { path, dir, runs } = await plugin(t, print);
  const { authorization, tls } = await kubeconfigAccess(path);
  assert.equal(await authorization(), "Bearer made");
  assert.equal(await authorization(), "Bearer made");
  await tls();
  assert.equal(await runs(), 1);
  assert.equal(await authorization(true), "Bearer made");
  assert.equal(await runs(), 2);
  const info: unknown = JSON.parse(await readFile(join(dir, "bin/info"), "utf8"));
  assert.deepEqual(info, {
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    spec: { interactive: false },
  });
});

test("a credential plug-in's certificate is used for the connection", async (t) => {
  const status = '{"clientCertificateData":"exec cert","clientKeyData":"exec key"}';
  const { path } = await plugin(t, `echo '{"status":${status}}'`);
  const { cert, key } = await (await kubeconfigAccess(path)).tls();
  assert.deepEqual([cert, key], ["exec cert", "exec key"]);
});

test("a credential plug-in that fails is told in its own words, and its output is never shown", async (t) => {
  for (const [print, why] of [
    [
      "echo please log in >&2; exit 1",
      /plugin failed, saying "please log in": run .*plugin by hand/,
    ],
    ["echo secret-of-mine", /plugin printed no credential/],
    ['echo \'{"token":"secret-of-mine"}\'', /plugin printed no credential/],
  ] as const) {
    const { path } = await plugin(t, print);
    const { authorization } = await kubeconfigAccess(path);
    await assert.rejects(authorization(), (error: Error & { code?: string }) => {
      assert.equal(error.code, "usage");
      assert.match(error.message, why);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  }
  const missing = await access(t, { user: { exec: { command: "no-such-plugin-of-larder" } } });
  await assert.rejects(
    missing.authorization(),
    /its credential plug-in no-such-plugin-of-larder cannot be started \(ENOENT\)/,
  );
});

test("a named file is read again when it changes", async (t) => {
  const path = await written(t, configOf({ user: { token: "token-one" } }));
  const { authorization } = await kubeconfigAccess(path);
  assert.equal(await authorization(), "Bearer token-one");
  await writeFile(path, configOf({ user: { token: "token-two-longer" } }));
  assert.equal(await authorization(), "Bearer token-two-longer");
});

test("a kubeconfig that leads nowhere is refused, and the error says what is wrong with it", async (t) => {
  const broken: readonly (readonly [string, RegExp])[] = [
    [configOf({ current: "" }), /it has no current context: choose a context with `kubectl/],
    [configOf({ current: "nope" }), /its current context nope is not in it \(it has: elsewhere, h/],
    [configOf({ current: "no-cluster" }), /context no-cluster names a cluster that is not in it/],
    [configOf({ current: "no-user" }), /context no-user names a user that is not in it/],
    [configOf({ cluster: { server: "api" } }), /the server of its cluster is no https URL/],
    [configOf({ cluster: { "proxy-url": "socks5://a:1" } }), /Larder knows no SOCKS/],
    [configOf({ user: { tokenFile: "/x" } }), /its user u has a tokenFile, which Larder does not/],
    ['{"clusters":[{"cluster":{}}]}', /clusters\[0\]\.name is missing/],
    ["", /it is empty, or no YAML/],
    ["null", /it is no kubeconfig/],
    ["token: [secret-of-mine", /it is empty, or no YAML: /],
  ];
  for (const [content, why] of broken) {
    const path = await written(t, content);
    await assert.rejects(kubeconfigAccess(path), (error: Error & { code?: string }) => {
      assert.equal(error.code, "usage");
      assert.ok(error.message.startsWith(`cannot use the kubeconfig ${path}: `), error.message);
      assert.match(error.message, why);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  }
  await assert.rejects(
    kubeconfigAccess("/nowhere/config"),
    /config: it does not exist: name a kube/,
  );
});

test("a certificate file that a kubeconfig names and that is missing is named", async (t) => {
  const { tls } = await access(t, { user: { "client-certificate": "/nowhere/cert" } });
  await assert.rejects(tls(), /\/nowhere\/cert: it does not exist/);
});

test("a kubeconfig that is named counts more than the pod, and the pod more than the home directory", async (t) => {
  const environment = { KUBERNETES_SERVICE_HOST: "10.0.0.1" };
  const kubeconfig = await written(t, configOf({ user: { token: "token-of-mine" } }));
  const named = await chooseAccess({ kubeconfig, environment });
  assert.equal(named.server.host, "api.example.com:6443");
  const pod = await chooseAccess({ environment });
  assert.equal(pod.server.host, "10.0.0.1");
});

/** Sets variables of this process until the test ends: the reader of kubeconfigs looks there itself. */
function setVariables(t: TestContext, wanted: Record<string, string | undefined>): void {
  const before = Object.keys(wanted).map((name) => [name, process.env[name]] as const);
  const set = (name: string, value: string | undefined) => {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  };
  for (const [name, value] of Object.entries(wanted)) set(name, value);
  t.after(() => {
    for (const [name, value] of before) set(name, value);
  });
}

test("several files of KUBECONFIG are joined, and the first says which context is the current one", async (t) => {
  const one = JSON.stringify({
    contexts: [{ name: "joined", context: { cluster: "c", user: "u" } }],
    "current-context": "joined",
  });
  const files = [await written(t, one), await written(t, configOf({ user: { token: "second" } }))];
  const variables = { KUBECONFIG: files.join(":"), KUBERNETES_SERVICE_HOST: "10.0.0.1" };
  setVariables(t, variables);
  const joined = await chooseAccess({ environment: variables });
  assert.equal(joined.server.host, "api.example.com:6443");
  assert.equal(await joined.authorization(), "Bearer second");
  const twice = await written(t, configOf({}));
  setVariables(t, { KUBECONFIG: `${twice}:${twice}` });
  await assert.rejects(kubeconfigAccess(undefined), /of \$KUBECONFIG or .*: Duplicate cluster: /);
});

test("where there is no kubeconfig at all, the error says so", async (t) => {
  setVariables(t, { KUBECONFIG: undefined, HOME: await tempDirectory(t) });
  await assert.rejects(kubeconfigAccess(undefined), {
    code: "usage",
    message: /of \$KUBECONFIG or ~\/\.kube\/config: there is none: name one with --kubeconfig/,
  });
});
