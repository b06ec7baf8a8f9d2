import { isAbsolute, join } from "node:path";

import type { Cluster, User } from "@kubernetes/client-node";

import { asObject, member, text } from "../registry/json.ts";

/**
 * A user whose credential plug-in, if it has one, is called as kubectl calls it: what it is asked for
 * is in KUBERNETES_EXEC_INFO, and a relative path is one from the kubeconfig's folder.
 *
 * @param dir of the kubeconfig, where it is one file
 */
export function withExecInfo(user: User, cluster: Cluster, dir: string | undefined): User {
  const exec = asObject(user.exec);
  const command = exec && text(exec, "command");
  if (exec === undefined || command === undefined) return user;
  const relative = command.includes("/") && !isAbsolute(command);
  const env: unknown = member(exec, "env");
  const given: unknown[] = Array.isArray(env) ? env : [];
  const info = { name: "KUBERNETES_EXEC_INFO", value: JSON.stringify(infoOf(exec, cluster)) };
  return {
    ...user,
    exec: {
      ...exec,
      command: relative && dir !== undefined ? join(dir, command) : command,
      env: [...given, info],
    },
  };
}

/** What a plug-in runs, for messages. */
export function pluginOf(user: User): string | undefined {
  const exec = asObject(user.exec);
  return exec && text(exec, "command");
}

function infoOf(exec: Readonly<Record<string, unknown>>, cluster: Cluster): object {
  const { server, caData, tlsServerName, skipTLSVerify } = cluster;
  return {
    apiVersion: text(exec, "apiVersion") ?? "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    spec: {
      interactive: false,
      ...(member(exec, "provideClusterInfo") === true && {
        cluster: {
          server,
          ...(caData && { "certificate-authority-data": caData }),
          ...(tlsServerName && { "tls-server-name": tlsServerName }),
          ...(skipTLSVerify && { "insecure-skip-tls-verify": true }),
        },
      }),
    },
  };
}
