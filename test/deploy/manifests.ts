/** What deploy/ declares, as kubectl's kustomize builds it. */
import { join } from "node:path";

import type { ControlPlane } from "../../testbed/control-plane.ts";
import { root } from "../source-files.ts";

export const base = join(root, "deploy/agent");
export const examples = ["agent-more-paths", "agent-registry-access"].map((name) =>
  join(root, "deploy/examples", name),
);

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly securityContext: {
    readonly capabilities: { readonly add?: readonly string[]; readonly drop: readonly string[] };
  };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface PodSpec {
  readonly initContainers: readonly [Container];
  readonly containers: readonly [Container];
  readonly volumes: readonly {
    readonly name: string;
    readonly hostPath?: { readonly path: string };
  }[];
}

export interface DaemonSet extends Manifest {
  readonly spec: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: { readonly metadata: Partial<Manifest["metadata"]>; readonly spec: PodSpec };
  };
}

/** Everything that a folder of kustomize stands for. The cluster is not changed. */
export async function manifestsOf(plane: ControlPlane, folder: string): Promise<Manifest[]> {
  const text = await plane.kubectl("apply", "-k", folder, "--dry-run=client", "-o", "json");
  return (JSON.parse(text) as { items: Manifest[] }).items;
}

/** The one DaemonSet of a folder. */
export async function daemonSetOf(plane: ControlPlane, folder: string): Promise<DaemonSet> {
  const found = (await manifestsOf(plane, folder)).filter(isDaemonSet);
  const [one, ...others] = found;
  if (one === undefined || others.length > 0) {
    throw new Error(`${folder} has ${found.length} DaemonSets, not one`);
  }
  return one;
}

function isDaemonSet(manifest: Manifest): manifest is DaemonSet {
  return manifest.kind === "DaemonSet";
}
