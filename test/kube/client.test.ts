/** The verbs of the client on a real API server. */
import assert from "node:assert/strict";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import type { LarderError } from "../../src/errors.ts";
import { ApiError } from "../../src/kube/api-error.ts";
import { Client } from "../../src/kube/client.ts";
import { inClusterAccess } from "../../src/kube/in-cluster-access.ts";
import { nodes, type Resource } from "../../src/kube/resource.ts";
import { startControlPlane, type ControlPlane } from "../../testbed/control-plane.ts";
import { startTcpLink } from "../../testbed/tcp-link.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { configMap, configMaps } from "./followed.ts";

const userAgent = "larder-test/0";
const namespace = "default";
const call = { namespace, signal: new AbortController().signal };

const serviceAccounts: Resource = {
  ...configMaps,
  plural: "serviceaccounts",
  kind: "ServiceAccount",
};

function refusedWith(status: number, reason: string, message: RegExp) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof ApiError, String(error));
    assert.deepEqual({ status: error.status, reason: error.reason }, { status, reason });
    assert.match(error.message, message);
    return true;
  };
}

describe("the client on an API server of Kubernetes", () => {
  let plane: ControlPlane;
  let client: Client;
  before(async () => {
    plane = await startControlPlane();
    client = new Client({ access: plane.access(), userAgent });
  });
  after(async () => {
    client.close();
    await plane.stop();
  });

  /** As a pod finds it; written again, it is rotated. */
  async function account(dir: string, name: string): Promise<void> {
    await client.create(serviceAccounts, { metadata: { namespace, name } }, call).catch(
      // The second time it is there.
      (error: unknown) => assert.ok(error instanceof ApiError && error.status === 409),
    );
    await plane.writeServiceAccountFolder(dir, { namespace, name });
  }

  function podClient(dir: string, port = plane.port): Client {
    const environment = {
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(port),
    };
    return new Client({ access: inClusterAccess(environment, dir), userAgent, timeoutMs: 3_000 });
  }

  test("an object is created, got, replaced, patched and deleted", async () => {
    const made = await client.create(configMaps, configMap(namespace, "life", "1"), call);
    assert.ok(made.metadata.uid);
    const got = await client.get(configMaps, "life", call);
    assert.deepEqual(got, made);
    assert.equal(got?.kind, "ConfigMap");
    const updated = await client.update(configMaps, { ...made, data: { value: "2" } }, call);
    assert.deepEqual(updated["data"], { value: "2" });
    const patched = await client.patch(configMaps, "life", { data: { more: "3" } }, call);
    assert.deepEqual(patched["data"], { value: "2", more: "3" });
    const without = await client.patch(configMaps, "life", { data: { more: null } }, call);
    assert.deepEqual(without["data"], { value: "2" });
    await client.delete(configMaps, "life", { ...call, uid: made.metadata.uid });
    assert.equal(await client.get(configMaps, "life", call), undefined);
  });

  test("managed fields do not come in, and an update without them keeps them", async () => {
    const made = await client.create(configMaps, configMap(namespace, "managed", "1"), call);
    assert.ok(!("managedFields" in made.metadata));
    await client.update(configMaps, made, call);
    const path = "jsonpath={.metadata.managedFields[*].manager}";
    const shown = ["get", "configmap", "managed", "--show-managed-fields", "-o", path];
    const fields = await plane.kubectl(...shown);
    assert.match(fields, /larder-test/);
  });

  test("a cluster-scoped object is got by its name", async () => {
    await client.create(nodes, { metadata: { name: "worker-1" } }, call);
    const { signal } = call;
    assert.equal((await client.get(nodes, "worker-1", { signal }))?.metadata.name, "worker-1");
    assert.equal(await client.get(nodes, "worker-2", { signal }), undefined);
  });

  test("a name cannot lead to another path", async () => {
    for (const name of ["..", ".", "", "../pods", "a/b", "%2e%2e"]) {
      await assert.rejects(client.get(configMaps, name, call), /no name that an object can have/);
    }
    for (const name of ["a?b", "a#b", "a b"]) {
      assert.equal(await client.get(configMaps, name, call), undefined);
    }
  });

  test("a kind that the server does not know is a failure, not a missing object", async () => {
    const unknown = { ...nodes, group: "nowhere.example.com", plural: "things", kind: "Thing" };
    await assert.rejects(
      client.get(unknown, "a", call),
      refusedWith(404, "", /^cannot get things\.nowhere\.example\.com\/.*: .*404 Not Found: .*CRD/),
    );
  });

  test("a second creation is refused as one that is there already", async () => {
    await client.create(configMaps, configMap(namespace, "twice", "1"), call);
    await assert.rejects(
      client.create(configMaps, configMap(namespace, "twice", "2"), call),
      refusedWith(
        409,
        "AlreadyExists",
        /^cannot create configmaps\/default\/twice: .*409 Conflict/,
      ),
    );
  });

  test("an update of an older state is refused", async () => {
    const first = await client.create(configMaps, configMap(namespace, "race", "1"), call);
    await client.update(configMaps, { ...first, data: { value: "2" } }, call);
    await assert.rejects(
      client.update(configMaps, { ...first, data: { value: "3" } }, call),
      refusedWith(409, "Conflict", /409 Conflict.*: read the object again/),
    );
  });

  test("a deletion names which object it means", async () => {
    const made = await client.create(configMaps, configMap(namespace, "meant", "1"), call);
    const { uid, resourceVersion } = made.metadata;
    const other = { ...call, uid: "00000000-0000-0000-0000-000000000000" };
    const conflict = refusedWith(409, "Conflict", /[Pp]recondition/);
    await assert.rejects(client.delete(configMaps, "meant", other), conflict);
    const older = { ...call, uid, resourceVersion: "1" };
    await assert.rejects(client.delete(configMaps, "meant", older), conflict);
    await client.delete(configMaps, "meant", { ...call, uid, resourceVersion });
    await assert.rejects(
      client.delete(configMaps, "meant", call),
      refusedWith(404, "NotFound", /^cannot delete configmaps\/default\/meant: /),
    );
  });

  test("an applied field belongs to its manager, and another one needs force", async () => {
    const apply = (manager: string, value: string, force = false) =>
      client.apply(configMaps, configMap(namespace, "owned", value), { ...call, manager, force });
    await apply("one", "1");
    const again = await apply("one", "1");
    await assert.rejects(
      apply("two", "2"),
      refusedWith(409, "Conflict", /conflicts? with "one": .*\.data\.value.*: let the other/),
    );
    const forced = await apply("two", "2", true);
    assert.deepEqual(forced["data"], { value: "2" });
    const unchanged = await apply("two", "2", true);
    assert.equal(unchanged.metadata.resourceVersion, forced.metadata.resourceVersion);
    assert.notEqual(again.metadata.resourceVersion, forced.metadata.resourceVersion);
  });

  test("an object that breaks its schema is refused in the server's words", async () => {
    await assert.rejects(
      client.create(configMaps, configMap(namespace, "No_Name", "1"), call),
      refusedWith(422, "Invalid", /metadata\.name: Invalid value: "No_Name"/),
    );
  });

  test("a list of more than a page is one list", async () => {
    const labels = { of: "pages" };
    const names = Array.from({ length: 1_050 }, (_, index) => `page-${index}`);
    const left = [...names];
    const work = async () => {
      for (let name = left.pop(); name !== undefined; name = left.pop()) {
        await client.create(configMaps, configMap(namespace, name, "1", labels), call);
      }
    };
    await Promise.all(Array.from({ length: 20 }, work));
    const selection = { ...call, labelSelector: "of=pages" };
    const { items, resourceVersion } = await client.list(configMaps, selection);
    assert.deepEqual(items.map(({ metadata }) => metadata.name).sort(), names.sort());
    assert.match(resourceVersion, /^\d+$/);
    const sizes: number[] = [];
    for await (const page of client.pages(configMaps, selection)) sizes.push(page.items.length);
    assert.deepEqual(sizes, [500, 500, 50]);
  });

  test("an account without a role is told which verb on what it lacks", async (t) => {
    const dir = await tempDirectory(t);
    await account(dir, "nobody");
    const pod = podClient(dir);
    t.after(() => pod.close());
    await assert.rejects(
      pod.patch(nodes, "worker-1", { metadata: {} }, { signal: call.signal }),
      refusedWith(
        403,
        "Forbidden",
        /^cannot patch nodes\/worker-1: the API server answered 403 Forbidden, saying ".*User "system:serviceaccount:default:nobody" cannot patch resource "nodes".*": give the account/,
      ),
    );
  });

  test("a token that is replaced on the disk is used from the next request on", async (t) => {
    const dir = await tempDirectory(t);
    const role = ["create", "clusterrole", "reader", "--verb=list", "--resource=configmaps"];
    await plane.kubectl(...role);
    const group = "--group=system:serviceaccounts";
    await plane.kubectl("create", "clusterrolebinding", "reader", "--clusterrole=reader", group);
    await account(dir, "rotated");
    const pod = podClient(dir);
    t.after(() => pod.close());
    await until("the role holds", async () => {
      const got = await pod.list(configMaps, call).catch((error: unknown) => error);
      return !(got instanceof Error);
    });
    // The account made anew: the old token is void, and the new one is found by itself.
    await plane.kubectl("delete", "serviceaccount", "rotated");
    await until("the old token is void", async () => {
      const got = await pod.list(configMaps, call).catch((error: unknown) => error);
      return got instanceof ApiError && got.status === 401;
    });
    await assert.rejects(
      pod.list(configMaps, call),
      refusedWith(401, "Unauthorized", /401 Unauthorized.*: check that the token/),
    );
    await account(dir, "rotated");
    const { items } = await pod.list(configMaps, call);
    assert.ok(items.length > 0);
  });

  test("a CA that is replaced on the disk is trusted from the next connection on", async (t) => {
    const dir = await tempDirectory(t);
    await account(dir, "trusting");
    const pod = podClient(dir);
    t.after(() => pod.close());
    const status = async () => {
      const got = await pod.list(configMaps, call).catch((error: unknown) => error);
      return got instanceof ApiError ? got.status : 200;
    };
    assert.notEqual(await status(), 0);
    await plane.rotateServingCertificate("new");
    pod.close();
    const untrusted = (await pod
      .list(configMaps, call)
      .catch((error: unknown) => error)) as LarderError;
    assert.ok(
      untrusted.message.includes(`is not signed by an authority of ${join(dir, "ca.crt")}`),
      untrusted.message,
    );
    assert.equal(untrusted.retryable, true);
    // As the kubelet does it: the new file is put in the place of the old one.
    await writeFile(join(dir, "new"), plane.ca);
    await rename(join(dir, "new"), join(dir, "ca.crt"));
    assert.notEqual(await status(), 0);
  });

  test("a request over a connection that has died meanwhile is sent again over another", async (t) => {
    const link = await startTcpLink(plane.port);
    t.after(() => link.close());
    const far = new Client({ access: plane.access(undefined, link.url), userAgent });
    t.after(() => far.close());
    await far.list(configMaps, call);
    assert.equal(link.accepted, 1);
    await far.list(configMaps, call);
    assert.equal(link.accepted, 1);
    await link.cut();
    await link.restore();
    await far.list(configMaps, call);
    assert.equal(link.accepted, 2);
  });

  test("an API server that stands still is a failure within the time limit", async (t) => {
    const contacts: boolean[] = [];
    const access = plane.access();
    const brief = new Client({
      access,
      userAgent,
      timeoutMs: 300,
      onContact: (ok) => contacts.push(ok),
    });
    t.after(() => brief.close());
    await brief.get(nodes, "worker-1", call);
    plane.pauseApiServer();
    t.after(() => {
      plane.resumeApiServer();
    });
    await assert.rejects(
      brief.get(nodes, "worker-1", call),
      refusedWith(
        0,
        "",
        /^cannot get nodes\/.*: 127\.0\.0\.1:\d+ does not answer \(no byte came for 0\.3 s\)/,
      ),
    );
    assert.deepEqual(contacts, [true, false]);
  });
});
