import { randomBytes } from "node:crypto";

import { Client } from "../../src/kube/client.ts";
import type { Resource } from "../../src/kube/resource.ts";
import { startControlPlane } from "../../testbed/control-plane.ts";
import { startMisbehavingApiServer } from "../../testbed/misbehaving-api-server.ts";
import { configMaps } from "./followed.ts";
import { listWatchConformance } from "./list-watch-conformance.ts";

const namespaces: Resource = {
  group: "",
  version: "v1",
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
};

function newName(): string {
  return `test-${randomBytes(6).toString("hex")}`;
}

listWatchConformance("an API server of Kubernetes", async () => {
  const plane = await startControlPlane();
  const access = plane.access();
  const admin = new Client({ access, userAgent: "conformance/0" });
  return {
    access,
    port: plane.port,
    namespace: async () => {
      const name = newName();
      const { signal } = new AbortController();
      await admin.create(namespaces, { metadata: { name } }, { signal });
      return name;
    },
    stop: async () => {
      admin.close();
      await plane.stop();
    },
  };
});

listWatchConformance("the API server that can misbehave, when it does not", async () => {
  const server = await startMisbehavingApiServer({ resource: configMaps });
  return {
    access: server.access(),
    port: server.port,
    namespace: () => Promise.resolve(newName()),
    stop: () => server.stop(),
  };
});
