/** What the agent's account may do in a cluster, with real tokens: this list, and nothing more. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import { imageCaches } from "../../src/api/image-cache.ts";
import type { ControlPlane } from "../../testbed/control-plane.ts";
import { until } from "../../testbed/until.ts";
import { collection } from "../api/image-cache-cases.ts";
import { account, addNode, startWithAgent } from "./cluster-with-agent.ts";

/** `<verb> <resource>.<group>`, and what of it, one a line. */
type Permission = string;

interface Rules {
  readonly status: {
    readonly incomplete: boolean;
    readonly resourceRules: readonly {
      readonly verbs: readonly string[];
      readonly apiGroups?: readonly string[];
      readonly resources?: readonly string[];
      readonly resourceNames?: readonly string[];
    }[];
    readonly nonResourceRules?: readonly {
      readonly verbs: readonly string[];
      readonly nonResourceURLs?: readonly string[];
    }[];
  };
}

const clusterWide: readonly Permission[] = [
  "get imagecaches.image-cache.scality.com",
  "list imagecaches.image-cache.scality.com",
  "watch imagecaches.image-cache.scality.com",
  "get nodes.",
  "list nodes.",
  "patch nodes.",
  "watch nodes.",
];
const events: readonly Permission[] = ["create events.events.k8s.io", "patch events.events.k8s.io"];

suite("the agent's account", () => {
  let plane: ControlPlane;
  let token: string;
  before(async () => {
    plane = await startWithAgent();
    await addNode(plane, "worker-1");
    token = await plane.serviceAccountToken(account);
    await plane.kubectl("create", "serviceaccount", "nobody", "-n", account.namespace);
    await until("the roles are in force", async () => {
      const { size } = await permissions(token, "default");
      return size > (await permissions(token, "larder-system")).size;
    });
  });
  after(() => plane.stop());

  /** What a token allows in a namespace, as the authorizer says. */
  async function permissions(of: string, namespace: string): Promise<Set<Permission>> {
    const body = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectRulesReview",
      spec: { namespace },
    };
    const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    const { status } = (await plane.ask(path, { method: "POST", body, token: of })) as Rules;
    // The Node authorizer cannot list its rules; it has none for anybody but kubelets.
    const onResources = status.resourceRules.flatMap(
      ({ verbs, apiGroups = [], resources = [], resourceNames = [] }) =>
        verbs.flatMap((verb) =>
          apiGroups.flatMap((group) =>
            resources.map((each) => [`${verb} ${each}.${group}`, ...resourceNames].join(" ")),
          ),
        ),
    );
    const onPaths = (status.nonResourceRules ?? []).flatMap(({ verbs, nonResourceURLs = [] }) =>
      verbs.flatMap((verb) => nonResourceURLs.map((url) => `${verb} ${url}`)),
    );
    return new Set([...onResources, ...onPaths]);
  }

  test("may do what the agent does and nothing that any other account may not", async () => {
    const nobody = await plane.serviceAccountToken({ ...account, name: "nobody" });
    for (const [namespace, expected] of [
      ["default", [...clusterWide, ...events]],
      ["larder-system", clusterWide],
      ["kube-system", clusterWide],
    ] as const) {
      const [its, everybodys] = [
        await permissions(token, namespace),
        await permissions(nobody, namespace),
      ];
      assert.deepEqual([...its.difference(everybodys)].sort(), [...expected].sort(), namespace);
      assert.deepEqual([...everybodys.difference(its)], [], namespace);
    }
  });

  const event = (namespace: string) => ({
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { generateName: "boot-", namespace },
    eventTime: "2026-01-01T00:00:00.000000Z",
    reportingController: "image-cache-agent",
    reportingInstance: "worker-1",
    regarding: {
      apiVersion: `${imageCaches.group}/${imageCaches.version}`,
      kind: imageCaches.kind,
      name: "boot",
    },
    type: "Normal",
    reason: "Synced",
    action: "Sync",
    note: "a note",
  });
  const eventsIn = (namespace: string) => `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;

  const allowed: readonly (readonly [method: string, path: string, body?: object])[] = [
    ["GET", collection],
    ["GET", `${collection}?watch=true&timeoutSeconds=1`],
    ["GET", "/api/v1/nodes/worker-1"],
    ["GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dworker-1"],
    ["GET", "/api/v1/nodes?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dworker-1"],
    ["POST", eventsIn("default"), event("default")],
  ];
  for (const [method, path, body] of allowed) {
    test(`may ${method} ${path}`, async () => {
      const { status, body: said } = await plane.raw(path, {
        method,
        token,
        ...(body && { body }),
      });
      assert.ok(status === 200 || status === 201, said);
    });
  }

  test("may raise the count of an event that it recorded", async () => {
    const made = await plane.ask(eventsIn("default"), {
      method: "POST",
      token,
      body: event("default"),
    });
    const { name } = (made as { metadata: { name: string } }).metadata;
    const series = { count: 2, lastObservedTime: "2026-01-01T00:00:01.000000Z" };
    await plane.ask(`${eventsIn("default")}/${name}`, { method: "PATCH", token, body: { series } });
  });

  const forbidden: readonly (readonly [method: string, path: string, body?: object])[] = [
    ["GET", "/api/v1/pods"],
    ["GET", "/api/v1/namespaces/larder-system/secrets"],
    ["GET", "/api/v1/namespaces/larder-system/configmaps"],
    ["GET", eventsIn("default")],
    ["POST", eventsIn("larder-system"), event("larder-system")],
    ["POST", "/api/v1/namespaces/default/events", {}],
    ["POST", collection, {}],
    ["PATCH", `${collection}/boot`, {}],
    ["DELETE", `${collection}/boot`],
    ["POST", "/api/v1/nodes", {}],
    ["PUT", "/api/v1/nodes/worker-1", {}],
    ["DELETE", "/api/v1/nodes/worker-1"],
    ["PATCH", "/api/v1/nodes/worker-1/status", {}],
    ["GET", "/api/v1/nodes/worker-1/proxy/pods"],
    ["POST", `/api/v1/namespaces/larder-system/serviceaccounts/${account.name}/token`, {}],
    ["GET", "/apis/apps/v1/daemonsets"],
    ["GET", "/apis/coordination.k8s.io/v1/leases"],
  ];
  for (const [method, path, body] of forbidden) {
    test(`may not ${method} ${path}`, async () => {
      const { status, body: said } = await plane.raw(path, {
        method,
        token,
        ...(body && { body }),
      });
      assert.equal(status, 403, said);
    });
  }
});
