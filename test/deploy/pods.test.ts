/** The agent's pods, as real controllers make and place them; nothing runs them here. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import type { ControlPlane } from "../../testbed/control-plane.ts";
import { until } from "../../testbed/until.ts";
import { messageOf } from "../api/image-cache-cases.ts";
import { account, addNode, startWithAgent } from "./cluster-with-agent.ts";
import { base, daemonSetOf } from "./manifests.ts";

interface Pod {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly nodeName?: string; readonly priority?: number };
  readonly status: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message?: string;
    }[];
  };
}

const podsPath = `/api/v1/namespaces/${account.namespace}/pods`;

suite("the agent's pods", () => {
  let plane: ControlPlane;
  before(async () => {
    plane = await startWithAgent({
      controllerManager: true,
      scheduler: true,
    });
    // A tainted node is one, too.
    for (const name of ["worker-1", "worker-2"]) await addNode(plane, name);
  });
  after(() => plane.stop());

  async function podsOf(app: string): Promise<readonly Pod[]> {
    const selector = encodeURIComponent(`app.kubernetes.io/name=${app}`);
    return ((await plane.ask(`${podsPath}?labelSelector=${selector}`)) as { items: Pod[] }).items;
  }

  async function onEveryNode(): Promise<void> {
    await until("every node has its agent", async () => {
      const nodes = (await podsOf("image-cache-agent")).flatMap(({ spec }) => spec.nodeName ?? []);
      return nodes.sort().join() === "worker-1,worker-2";
    });
  }

  test("are admitted and placed on every node, tainted ones too, before all else", async () => {
    await onEveryNode();
    for (const { spec } of await podsOf("image-cache-agent"))
      assert.equal(spec.priority, 2_000_001_000);
  });

  test("are never two on one node, whatever their DaemonSets are called", async () => {
    await onEveryNode();
    const { metadata, spec, ...rest } = await daemonSetOf(plane, base);
    const labels = { "app.kubernetes.io/name": "second-agent" };
    const template = { ...spec.template, metadata: { labels } };
    const body = {
      ...rest,
      metadata: { name: "second-agent", namespace: metadata.namespace },
      spec: { ...spec, selector: { matchLabels: labels }, template },
    };
    const path = `/apis/apps/v1/namespaces/${account.namespace}/daemonsets`;
    await plane.ask(path, { method: "POST", body });
    await until("the second agents wait for the host port", async () => {
      const conditions = (await podsOf("second-agent")).map(({ status }) =>
        status.conditions?.find(({ type }) => type === "PodScheduled"),
      );
      return (
        conditions.length === 2 &&
        conditions.every(
          (each) => each?.status === "False" && /free ports/.test(each.message ?? ""),
        )
      );
    });
  });

  test("are refused by every stricter Pod Security Standard, which is why their namespace is privileged", async () => {
    const { spec } = await daemonSetOf(plane, base);
    const body = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "agent" },
      spec: { ...spec.template.spec, serviceAccountName: "default" },
    };
    await plane.kubectl("create", "namespace", "strict");
    await plane.kubectl(
      "label",
      "namespace",
      "strict",
      "pod-security.kubernetes.io/enforce=baseline",
    );
    await plane.ask(`${podsPath}?dryRun=All`, { method: "POST", body });
    const path = "/api/v1/namespaces/strict/pods?dryRun=All";
    await until("the namespace has its account", async () => {
      return (await plane.raw("/api/v1/namespaces/strict/serviceaccounts/default")).status === 200;
    });
    const said = await plane.raw(path, { method: "POST", body });
    assert.equal(said.status, 403, said.body);
    for (const why of [/hostPath volumes/, /hostPort/, /seLinuxOptions/])
      assert.match(messageOf(said), why);
  });
});
