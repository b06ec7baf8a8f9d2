/** What every suite with a control plane relies on. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { after, before, suite, test } from "node:test";

import { writingVerbs } from "../../testbed/audit-log.ts";
import { startControlPlane, type ControlPlane } from "../../testbed/control-plane.ts";
import { startTcpLink } from "../../testbed/tcp-link.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { isRunning } from "./running.ts";

const childScript = new URL("./control-plane-child.ts", import.meta.url).pathname;

function configMap(name: string) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
}

const configMaps = "/api/v1/namespaces/default/configmaps";

async function makeNode(plane: ControlPlane, name: string): Promise<void> {
  const body = { apiVersion: "v1", kind: "Node", metadata: { name } };
  await plane.ask("/api/v1/nodes", { method: "POST", body });
}

suite("one control plane", () => {
  let plane: ControlPlane;

  before(async () => {
    plane = await startControlPlane();
  });
  after(() => plane.stop());

  test("it answers its admin by token, by kubectl and by what a client is given", async () => {
    assert.equal((await plane.raw("/api/v1/nodes")).status, 200);
    assert.match(await plane.kubectl("get", "namespaces"), /^default\s+Active/m);
    const access = plane.access();
    assert.equal(access.server.href, `${plane.url}/`);
    assert.deepEqual(await access.tls(), { ca: plane.ca });
    assert.equal(await access.authorization(), `Bearer ${plane.adminToken}`);
  });

  test("a request with a token that it does not know is refused", async () => {
    assert.equal((await plane.raw("/api/v1/nodes", { token: "no" })).status, 401);
  });

  test("a service account may do nothing before it is given a role", async () => {
    await plane.kubectl("create", "serviceaccount", "plain");
    const token = await plane.serviceAccountToken({ namespace: "default", name: "plain" });
    const { status, body } = await plane.raw("/api/v1/nodes", { token });
    assert.equal(status, 403);
    assert.match(body, /system:serviceaccount:default:plain/);
  });

  test("a token bound to a pod says the pod's node", async () => {
    await makeNode(plane, "bound-1");
    await plane.kubectl("create", "serviceaccount", "bound");
    const account = { namespace: "default", name: "bound", podNode: "bound-1" };
    const review = await plane.ask("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
      method: "POST",
      token: await plane.serviceAccountToken(account),
      body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    });
    const { extra } = (review as { status: { userInfo: { extra: Record<string, string[]> } } })
      .status.userInfo;
    assert.deepEqual(extra["authentication.kubernetes.io/node-name"], ["bound-1"]);
    assert.equal(extra["authentication.kubernetes.io/node-uid"]?.length, 1);
  });

  test("a service account's kubeconfig and folder say who it is", async (t) => {
    await plane.kubectl("create", "serviceaccount", "files");
    const account = { namespace: "default", name: "files" };
    const kubeconfig = await plane.serviceAccountKubeconfig(account);
    const said = await plane.kubectl("auth", "whoami", `--kubeconfig=${kubeconfig}`);
    assert.match(said, /system:serviceaccount:default:files/);
    const folder = await tempDirectory(t);
    await plane.writeServiceAccountFolder(folder, account);
    const read = (name: string) => readFile(join(folder, name), "utf8");
    assert.equal(await read("ca.crt"), plane.ca);
    assert.equal(await read("namespace"), "default");
    const answer = await plane.raw("/version", { token: await read("token") });
    assert.equal(answer.status, 200);
  });

  test("manifests are applied from a file and from a kustomize folder", async (t) => {
    const folder = await tempDirectory(t);
    await writeFile(join(folder, "one.yaml"), JSON.stringify(configMap("from-file")));
    await plane.apply(join(folder, "one.yaml"));
    await writeFile(
      join(folder, "kustomization.yaml"),
      "namePrefix: kustomized-\nresources: [one.yaml]\n",
    );
    await plane.apply(folder);
    assert.equal((await plane.raw(`${configMaps}/from-file`)).status, 200);
    assert.equal((await plane.raw(`${configMaps}/kustomized-from-file`)).status, 200);
  });

  test("every request since a mark is in the audit log once it is answered", async () => {
    await makeNode(plane, "audited");
    const mark = await plane.audit.mark();
    const patch = { metadata: { labels: { a: "b" } } };
    const headers = { "User-Agent": "tester/1" };
    await plane.ask("/api/v1/nodes/audited", { method: "PATCH", body: patch, headers });
    await plane.ask("/api/v1/nodes/audited", { headers });
    const patches = await plane.audit.since(mark, { verb: "patch", resource: "nodes" });
    assert.deepEqual(
      patches.map(({ user, userAgent, name, status }) => ({ user, userAgent, name, status })),
      [{ user: "admin", userAgent: "tester/1", name: "audited", status: 200 }],
    );
    const mine = { userAgent: /^tester/, user: "admin" };
    assert.equal((await plane.audit.since(mark, mine)).length, 2);
    assert.equal((await plane.audit.since(mark, { ...mine, verb: writingVerbs })).length, 1);
    assert.deepEqual(await plane.audit.since(await plane.audit.mark(), mine), []);
  });

  test("a watch is one entry, open and ended", async () => {
    const mark = await plane.audit.mark();
    const stopping = new AbortController();
    const ended = plane.raw(`${configMaps}?watch=true`, { signal: stopping.signal });
    const watches = () => plane.audit.since(mark, { verb: "watch", user: "admin" });
    await until("the watch is open", async () => (await watches()).length === 1);
    assert.equal((await watches())[0]?.status, undefined);
    stopping.abort();
    await assert.rejects(ended, { name: "AbortError" });
    await until("the watch has ended", async () => (await watches())[0]?.status === 200);
    assert.equal((await watches()).length, 1);
  });

  test("a kubeconfig can lead over a link, which can be cut and restored", async () => {
    await using link = await startTcpLink(plane.port);
    const kubeconfig = await plane.writeKubeconfig(plane.adminToken, link.url);
    const ask = () => plane.kubectl("get", "namespaces", `--kubeconfig=${kubeconfig}`);
    assert.match(await ask(), /default/);
    await link.cut();
    await assert.rejects(ask(), /refused/);
    await link.restore();
    assert.match(await ask(), /default/);
    assert.equal(plane.access(undefined, link.url).server.port, String(link.port));
  });

  test("a paused API server is connected to and says nothing until it goes on", async () => {
    plane.pauseApiServer();
    try {
      const soon = AbortSignal.timeout(300);
      await assert.rejects(plane.raw("/version", { signal: soon }), { name: "AbortError" });
    } finally {
      plane.resumeApiServer();
    }
    assert.equal((await plane.raw("/version")).status, 200);
  });

  test("a stopped API server refuses, and comes back on its port with what it knew", async () => {
    await plane.ask(configMaps, { method: "POST", body: configMap("kept") });
    for (const how of ["terminate", "kill"] as const) {
      await plane.stopApiServer(how);
      assert.equal(plane.pids["apiServer"], undefined);
      await assert.rejects(plane.raw("/version"), { code: "ECONNREFUSED" });
      await plane.startApiServer();
      assert.equal((await plane.raw(`${configMaps}/kept`)).status, 200);
    }
  });

  test("an API server with an open watch stops within seconds", async () => {
    const mark = await plane.audit.mark();
    const ended = plane.raw(`${configMaps}?watch=true`).catch((error: unknown) => error);
    await until("the watch is open", async () => {
      return (await plane.audit.since(mark, { verb: "watch", user: "admin" })).length === 1;
    });
    const began = performance.now();
    await plane.stopApiServer();
    assert.ok(performance.now() - began < 10_000);
    await ended;
    await plane.startApiServer();
  });

  test("a certificate that rotates is served, of the same authority or of a new one", async () => {
    const { ca } = plane;
    await plane.rotateServingCertificate("same");
    assert.equal(plane.ca, ca);
    assert.match(await plane.kubectl("get", "nodes"), /audited/);
    const before = await plane.writeKubeconfig();
    await plane.rotateServingCertificate("new");
    assert.notEqual(plane.ca, ca);
    assert.match(await plane.kubectl("get", "nodes"), /audited/);
    await assert.rejects(plane.kubectl("get", "nodes", `--kubeconfig=${before}`), /certificate/);
    assert.deepEqual(await plane.access().tls(), { ca: plane.ca });
  });

  test("a wiped cluster is empty at the same address, with the same certificate and admin", async () => {
    const { url, ca, adminToken } = plane;
    await makeNode(plane, "forgotten");
    await plane.kubectl("create", "serviceaccount", "forgotten");
    const token = await plane.serviceAccountToken({ namespace: "default", name: "forgotten" });
    const kubeconfig = await plane.writeKubeconfig();
    const version = await resourceVersion(plane);

    await plane.wipe();

    assert.deepEqual([plane.url, plane.ca, plane.adminToken], [url, ca, adminToken]);
    assert.equal((await plane.raw("/api/v1/nodes/forgotten")).status, 404);
    assert.deepEqual(((await plane.ask("/api/v1/nodes")) as { items: [] }).items, []);
    assert.equal((await plane.raw("/version", { token })).status, 401);
    assert.match(await plane.kubectl("get", "ns", `--kubeconfig=${kubeconfig}`), /default/);
    assert.ok((await resourceVersion(plane)) < version, "its versions begin anew");
  });
});

async function resourceVersion(plane: ControlPlane): Promise<number> {
  const list = (await plane.ask(configMaps)) as { metadata: { resourceVersion: string } };
  return Number(list.metadata.resourceVersion);
}

suite("beginning and end", () => {
  test("two start at once and do not see each other; stopped, they leave nothing", async () => {
    const began = performance.now();
    const planes = await Promise.all([startControlPlane(), startControlPlane()]);
    try {
      assert.ok(performance.now() - began < 30_000);
      const [one, two] = planes;
      assert.notEqual(one.port, two.port);
      await makeNode(one, "only-here");
      assert.equal((await two.raw("/api/v1/nodes/only-here")).status, 404);
      assert.equal((await two.raw("/api/v1/nodes", { token: one.adminToken })).status, 401);
    } finally {
      const pids = planes.flatMap((plane) => Object.values(plane.pids));
      assert.equal(pids.length, 4);
      await Promise.all(planes.map((plane) => plane.stop()));
      assert.deepEqual(pids.filter(isRunning), []);
      assert.deepEqual(
        planes.filter(({ dir }) => existsSync(dir)),
        [],
      );
    }
  });

  test("stopping twice is stopping once, also with the API server paused", async () => {
    const plane = await startControlPlane();
    plane.pauseApiServer();
    await Promise.all([plane.stop(), plane.stop()]);
    await plane.stop();
    const socket = connect(plane.port, "127.0.0.1");
    await assert.rejects(once(socket, "connect"), { code: "ECONNREFUSED" });
  });

  test("what does not come up is named with what it said, and leaves nothing", async (t) => {
    const before = process.env["TMPDIR"];
    t.after(() => {
      if (before === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = before;
    });
    const temporary = await tempDirectory(t);
    process.env["TMPDIR"] = temporary;
    const starting = startControlPlane({ apiServerFlags: ["--no-such-flag"] });
    await assert.rejects(starting, /kube-apiserver ended with 1: .*unknown flag: --no-such-flag/s);
    assert.deepEqual(await readdir(temporary), []);
  });

  for (const end of ["SIGKILL", "exit"] as const) {
    test(`a test run that ends by ${end} leaves no process and no folder`, async () => {
      const child = spawn(process.execPath, [childScript], { stdio: ["pipe", "pipe", "inherit"] });
      const ended = once(child, "exit");
      const [line] = (await once(createInterface(child.stdout), "line")) as [string];
      const { pids, dir } = JSON.parse(line) as { pids: number[]; dir: string };
      assert.equal(pids.filter(isRunning).length, 2);
      assert.ok(existsSync(dir));
      if (end === "SIGKILL") child.kill("SIGKILL");
      else child.stdin.write("exit");
      await ended;
      await until("its programs are gone", () => !pids.some(isRunning));
      await until("its folder is gone", () => !existsSync(dir));
    });
  }
});
