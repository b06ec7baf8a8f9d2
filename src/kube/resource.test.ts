import assert from "node:assert/strict";
import { test } from "node:test";

import { apiVersionOf, leases, nodes, pathOf, pods, shownPlace } from "./resource.ts";

test("paths are those of the API, with and without group, namespace and name", () => {
  assert.equal(pathOf(nodes, {}), "/api/v1/nodes");
  assert.equal(pathOf(nodes, { name: "worker-1" }), "/api/v1/nodes/worker-1");
  assert.equal(pathOf(pods, { namespace: "a" }), "/api/v1/namespaces/a/pods");
  assert.equal(pathOf(leases, {}), "/apis/coordination.k8s.io/v1/leases");
  assert.equal(
    pathOf(leases, { namespace: "a", name: "b" }),
    "/apis/coordination.k8s.io/v1/namespaces/a/leases/b",
  );
});

test("a cluster-scoped kind has no namespace, whatever is asked for", () => {
  assert.equal(pathOf(nodes, { namespace: "a", name: "b" }), "/api/v1/nodes/b");
});

test("no name leads out of its place in the path", () => {
  for (const name of ["", ".", "..", "a/b", "/", "%2e%2e", "a%2fb"]) {
    assert.throws(() => pathOf(nodes, { name }), /no name that an object can have/);
    assert.throws(() => pathOf(pods, { namespace: name }), /no name that an object can have/);
  }
  assert.equal(pathOf(nodes, { name: "a?b#c" }), "/api/v1/nodes/a%3Fb%23c");
});

test("messages name objects as kubectl does", () => {
  assert.equal(shownPlace(nodes, { name: "a" }), "nodes/a");
  assert.equal(shownPlace(leases, { namespace: "a", name: "b" }), "leases.coordination.k8s.io/a/b");
  assert.equal(apiVersionOf(leases), "coordination.k8s.io/v1");
  assert.equal(apiVersionOf(nodes), "v1");
});
