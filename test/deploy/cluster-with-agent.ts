/** A control plane with the agent's manifests, and nodes to be an agent of. */
import type { ControlPlane } from "../../testbed/control-plane.ts";
import type { ControlPlaneOptions } from "../../testbed/control-plane-servers.ts";
import { startWithImageCaches } from "../api/image-cache-cases.ts";
import { base } from "./manifests.ts";

export const account = { namespace: "larder-system", name: "image-cache-agent" };

/** Starts it with `deploy/agent` applied. */
export async function startWithAgent(options?: ControlPlaneOptions): Promise<ControlPlane> {
  const plane = await startWithImageCaches(options);
  try {
    await plane.apply(base);
    return plane;
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

/** Makes a node that has something of everything. */
export async function addNode(plane: ControlPlane, name: string): Promise<void> {
  const body = {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: { "kubernetes.io/os": "linux", rack: "one" },
      annotations: { note: "somebody's" },
    },
    spec: { taints: [{ key: "dedicated", value: "storage", effect: "NoSchedule" }] },
  };
  await plane.ask("/api/v1/nodes", { method: "POST", body });
  const status = {
    allocatable: { cpu: "4", memory: "8Gi", pods: "110" },
    capacity: { cpu: "4", memory: "8Gi", pods: "110" },
    conditions: [{ type: "Ready", status: "True", reason: "KubeletReady", message: "it is" }],
  };
  await plane.ask(`/api/v1/nodes/${name}/status`, { method: "PATCH", body: { status } });
}
