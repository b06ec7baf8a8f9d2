import { join } from "node:path";

import { buildGoTools } from "./go-tools.ts";

const versionVariables = "k8s.io/component-base/version";

/** The version that the modules of `testbed/kubernetes` are. */
const kubernetesVersion = { major: 1, minor: 37, text: "v1.37.2" };

/** Where the programs of a control plane are, built on first use (minutes, once). */
export interface KubernetesPrograms {
  readonly apiServer: string;
  readonly controllerManager: string;
  readonly scheduler: string;
  readonly kubectl: string;
}

/**
 * @returns the programs in `$KUBEBUILDER_ASSETS` where that is set (it has to hold a scheduler and a
 * controller manager too, for the suites that want them), else the built ones
 */
export async function kubernetesPrograms(): Promise<KubernetesPrograms> {
  const folder = ready() ?? (await buildKubernetes());
  return {
    apiServer: join(folder, "kube-apiserver"),
    controllerManager: join(folder, "kube-controller-manager"),
    scheduler: join(folder, "kube-scheduler"),
    kubectl: join(folder, "kubectl"),
  };
}

/** The path of `etcd`, built on first use. */
export async function etcd(): Promise<string> {
  return join(ready() ?? (await buildGoTools({ name: "etcd" })), "etcd");
}

function ready(): string | undefined {
  return process.env["KUBEBUILDER_ASSETS"] || undefined;
}

async function buildKubernetes(): Promise<string> {
  const { major, minor, text } = kubernetesVersion;
  const variables = { gitVersion: text, gitMajor: String(major), gitMinor: String(minor) };
  const ldflags = Object.entries(variables).map(
    ([name, value]) => `-X ${versionVariables}.${name}=${value}`,
  );
  return buildGoTools({ name: "kubernetes", ldflags: ldflags.join(" ") });
}
