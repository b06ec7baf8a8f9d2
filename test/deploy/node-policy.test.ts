/** The admission policy: an agent changes the cache labels of its own node, and nothing else. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import { labelPrefix } from "../../src/api/image-cache.ts";
import type { RawAnswer } from "../../testbed/api-requests.ts";
import type { ControlPlane } from "../../testbed/control-plane.ts";
import { until } from "../../testbed/until.ts";
import { messageOf } from "../api/image-cache-cases.ts";
import { account, addNode, startWithAgent } from "./cluster-with-agent.ts";

const policy = "image-cache-agent-own-node";
const own = "worker-1";
const cacheLabel = `${labelPrefix}boot`;

suite("the agent's node policy", () => {
  let plane: ControlPlane;
  let token: string;
  before(async () => {
    plane = await startWithAgent({ controllerManager: true });
    await addNode(plane, own);
    await addNode(plane, "worker-2");
    token = await plane.serviceAccountToken({ ...account, podNode: own });
    await until("the policy is in force", async () => {
      const answer = await patch(own, labels({ rack: "two" }));
      return answer.status === 403 && messageOf(answer).includes(policy);
    });
  });
  after(() => plane.stop());

  /** Judged and not kept. */
  function patch(
    node: string,
    body: object,
    { as = token, headers = {} }: { as?: string; headers?: Record<string, string> } = {},
  ): Promise<RawAnswer> {
    const path = `/api/v1/nodes/${node}?dryRun=All`;
    return plane.raw(path, { method: "PATCH", body, token: as, headers });
  }

  async function accepted(answer: Promise<RawAnswer>): Promise<void> {
    const { status, body } = await answer;
    assert.equal(status, 200, body);
  }

  async function refused(answer: Promise<RawAnswer>, says: RegExp): Promise<void> {
    const said = await answer;
    assert.equal(said.status, 403, said.body);
    assert.match(messageOf(said), says);
    assert.ok(messageOf(said).includes(policy));
  }

  test("lets an agent set, change and remove the cache labels of its own node", async () => {
    const path = `/api/v1/nodes/${own}`;
    for (const value of ["pending", "synced", null]) {
      const node = await plane.ask(path, {
        method: "PATCH",
        token,
        body: labels({ [cacheLabel]: value }),
      });
      const { metadata } = node as { metadata: { labels: Record<string, string> } };
      assert.equal(metadata.labels[cacheLabel] ?? null, value);
      assert.equal(metadata.labels["rack"], "one");
    }
  });

  test("lets an agent set a cache label by server-side apply", async () => {
    const body = {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: own, ...labels({ [cacheLabel]: "synced" }).metadata },
    };
    const path = `/api/v1/nodes/${own}?dryRun=All&fieldManager=larder-agent`;
    const headers = { "Content-Type": "application/apply-patch+yaml" };
    await accepted(plane.raw(path, { method: "PATCH", body, token, headers }));
  });

  test("refuses an agent that patches another node, and names both", async () => {
    await refused(
      patch("worker-2", labels({ [cacheLabel]: "synced" })),
      /the image-cache agent of node worker-1 may not change node worker-2: it may change its own only: check its NODE_NAME/,
    );
  });

  test("refuses an agent that sets, changes or removes another label, and names it", async () => {
    for (const [label, value] of [
      ["rack", "two"],
      ["rack", null],
      ["kubernetes.io/os", "windows"],
      ["node-role.kubernetes.io/control-plane", ""],
      ["image-cache.scality.com.evil.example/boot", "synced"],
      ["boot", "synced"],
    ] as const) {
      await refused(
        patch(own, labels({ [label]: value, [cacheLabel]: "synced" })),
        new RegExp(
          `may not change the label ${label.replaceAll(".", "\\.")}: it may change labels under`,
        ),
      );
    }
    await refused(patch(own, labels({ a: "1", rack: null })), /may not change the label a, rack: /);
  });

  test("refuses an agent that changes anything of its node but labels", async () => {
    for (const change of [
      { metadata: { annotations: { note: "mine" } } },
      { metadata: { annotations: { note: null } } },
      { metadata: { annotations: { other: "" } } },
      { metadata: { finalizers: ["example.com/hold"] } },
      {
        metadata: {
          ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "worker-2", uid: "1" }],
        },
      },
      { spec: { taints: [] } },
      { spec: { taints: null } },
      { spec: { unschedulable: true } },
      { spec: { podCIDR: "10.0.0.0/24" } },
    ]) {
      const body = {
        ...change,
        metadata: { ...labels({ [cacheLabel]: "synced" }).metadata, ...change.metadata },
      };
      await refused(patch(own, body), /may not change anything of a node but its labels under/);
    }
  });

  test("a status in an agent's patch changes nothing", async () => {
    const said = await patch(own, { status: { allocatable: { cpu: "1k" } } });
    assert.equal(said.status, 200, said.body);
    assert.match(said.body, /"allocatable":\{"cpu":"4"/);
  });

  test("refuses a token that names no node", async () => {
    const unbound = await plane.serviceAccountToken(account);
    for (const node of [own, "worker-2"]) {
      await refused(
        patch(node, labels({ [cacheLabel]: "synced" }), { as: unbound }),
        /its token names no node: use a token that is bound to a pod/,
      );
    }
  });

  test("holds for an agent in another namespace, too", async () => {
    await plane.kubectl("create", "serviceaccount", account.name, "-n", "default");
    await bind("default", account.name);
    const moved = await plane.serviceAccountToken({
      ...account,
      namespace: "default",
      podNode: own,
    });
    await accepted(patch(own, labels({ [cacheLabel]: "synced" }), { as: moved }));
    await refused(
      patch(own, labels({ rack: "two" }), { as: moved }),
      /may not change the label rack/,
    );
  });

  test("leaves administrators, kubelets and other accounts alone", async () => {
    await plane.kubectl("create", "serviceaccount", "labeller", "-n", "default");
    await bind("default", "labeller");
    const other = await plane.serviceAccountToken({ namespace: "default", name: "labeller" });
    const change = { metadata: { labels: { rack: "two" }, annotations: { note: "new" } } };
    await accepted(patch("worker-2", change, { as: other }));
    await accepted(patch("worker-2", change, { as: plane.adminToken }));
    const kubelet = {
      "Impersonate-User": "system:node:worker-2",
      "Impersonate-Group": "system:nodes",
    };
    await accepted(patch("worker-2", change, { as: plane.adminToken, headers: kubelet }));
  });

  test("has expressions in which the API server finds nothing wrong", async () => {
    interface Policy {
      readonly status?: {
        readonly typeChecking?: { readonly expressionWarnings?: readonly unknown[] };
        readonly observedGeneration?: number;
      };
    }
    const path = `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/${policy}`;
    const status = async () => ((await plane.ask(path)) as Policy).status;
    await until(
      "the policy is checked",
      async () => (await status())?.observedGeneration !== undefined,
    );
    assert.deepEqual((await status())?.typeChecking?.expressionWarnings ?? [], []);
  });

  /** Gives an account what the agent's has. */
  async function bind(namespace: string, name: string): Promise<void> {
    await plane.kubectl(
      "create",
      "clusterrolebinding",
      `also-${name}`,
      "--clusterrole=image-cache-agent",
      `--serviceaccount=${namespace}:${name}`,
    );
    await until("the binding is in force", async () => {
      const as = await plane.serviceAccountToken({ namespace, name });
      return (await plane.raw(`/api/v1/nodes/${own}`, { token: as })).status === 200;
    });
  }
});

function labels(given: Readonly<Record<string, string | null>>) {
  return { metadata: { labels: given } };
}
