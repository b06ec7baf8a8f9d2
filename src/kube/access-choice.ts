import type { Access } from "./access.ts";
import { inClusterAccess } from "./in-cluster-access.ts";

export interface AccessOptions {
  /** A kubeconfig file that somebody named. */
  readonly kubeconfig?: string | undefined;
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * The way to the API server: a kubeconfig that is named (by option, or by KUBECONFIG), else the
 * service account of the pod that this runs in, else the user's own kubeconfig. Its reader is large and
 * is loaded only where it is needed.
 *
 * @throws LarderError `usage` naming what is missing or malformed
 */
export async function chooseAccess(options: AccessOptions): Promise<Access> {
  if (usesServiceAccount(options)) return inClusterAccess(options.environment);
  const { kubeconfigAccess } = await import("./kubeconfig.ts");
  return kubeconfigAccess(options.kubeconfig);
}

/** Whether `chooseAccess` takes the service account of a pod: nothing else is named, and there is one. */
export function usesServiceAccount({ kubeconfig, environment }: AccessOptions): boolean {
  const named = kubeconfig ?? (environment["KUBECONFIG"] || undefined);
  return named === undefined && (environment["KUBERNETES_SERVICE_HOST"] ?? "") !== "";
}
