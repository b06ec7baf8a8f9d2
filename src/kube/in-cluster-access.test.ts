import assert from "node:assert/strict";
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { tempDirectory } from "../../testbed/temp-directory.ts";
import { inClusterAccess } from "./in-cluster-access.ts";

const environment = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "6443" };
const pem = (text: string) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;

/** A projected volume as the kubelet makes it: files are links through `..data`, which is swapped. */
async function project(folder: string, turn: number, files: Record<string, string>): Promise<void> {
  const data = `..turn-${turn}`;
  await mkdir(join(folder, data));
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(folder, data, name), content);
    if (turn === 1) await symlink(join("..data", name), join(folder, name));
  }
  await symlink(data, join(folder, "..data_tmp"));
  await rename(join(folder, "..data_tmp"), join(folder, "..data"));
}

async function volume(t: TestContext): Promise<string> {
  const folder = await tempDirectory(t);
  await project(folder, 1, { token: "token-one\n", "ca.crt": pem("one") });
  return folder;
}

test("the access of a pod is its service account's token and the cluster's CA", async (t) => {
  const folder = await volume(t);
  const access = inClusterAccess(environment, folder);
  assert.equal(access.server.href, "https://10.0.0.1:6443/");
  assert.equal(await access.authorization(), "Bearer token-one");
  assert.deepEqual(await access.tls(), { ca: pem("one"), caSource: join(folder, "ca.crt") });
});

test("token and CA are read again when the kubelet swaps them", async (t) => {
  const folder = await volume(t);
  const access = inClusterAccess(environment, folder);
  await access.authorization();
  await access.tls();
  await project(folder, 2, { token: "token-two", "ca.crt": pem("two") });
  assert.equal(await access.authorization(), "Bearer token-two");
  assert.equal((await access.tls()).ca, pem("two"));
});

test("an IPv6 address gets its brackets, and a missing port is 443", () => {
  const { server } = inClusterAccess({ KUBERNETES_SERVICE_HOST: "fd00::1" });
  assert.equal(server.href, "https://[fd00::1]/");
});

test("an environment that names no API server is refused", () => {
  assert.throws(() => inClusterAccess({}), /KUBERNETES_SERVICE_HOST is not set, so this is no pod/);
  for (const [host, port] of [
    ["a b", "443"],
    ["a/b", "443"],
    ["a", "many"],
    ["a@b", "443"],
  ]) {
    const wrong = { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port };
    assert.throws(() => inClusterAccess(wrong), /are no host and port/);
  }
});

test("a file that is missing or malformed is named, its content is not shown, and it may come yet", async (t) => {
  const folder = await volume(t);
  const access = inClusterAccess(environment, folder);
  for (const [content, why] of [
    ["", /token: it is empty: /],
    ["secret word", /token: it holds no token: /],
  ] as const) {
    await writeFile(join(folder, "token"), content);
    await assert.rejects(access.authorization(), (error: Error) => {
      assert.match(error.message, why);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  }
  await rm(join(folder, "token"));
  await assert.rejects(access.authorization(), {
    code: "api",
    retryable: true,
    message: /token: it does not exist: check that the pod has automountServiceAccountToken/,
  });
  await writeFile(join(folder, "ca.crt"), "nothing");
  await assert.rejects(access.tls(), /ca\.crt: it holds no PEM certificate/);
});
