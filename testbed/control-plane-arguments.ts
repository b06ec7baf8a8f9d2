/** The command lines of a control plane's programs. Paths are relative to its folder. */
import { files } from "./control-plane-files.ts";

// A socket, not a port: one thing less that two control planes could collide on.
const etcdClient = "unix://etcd-client.sock";
const etcdPeer = "unix://etcd-peer.sock";

export function etcdArguments(): string[] {
  return [
    "--name=testbed",
    `--data-dir=${files.etcdData}`,
    "--unsafe-no-fsync",
    "--log-level=error",
    `--listen-client-urls=${etcdClient}`,
    `--advertise-client-urls=${etcdClient}`,
    `--listen-peer-urls=${etcdPeer}`,
    `--initial-advertise-peer-urls=${etcdPeer}`,
    `--initial-cluster=testbed=${etcdPeer}`,
  ];
}

export function apiServerArguments(port: number): string[] {
  return [
    `--etcd-servers=${etcdClient}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--tls-cert-file=${files.certificate}`,
    `--tls-private-key-file=${files.key}`,
    `--token-auth-file=${files.tokens}`,
    "--authorization-mode=Node,RBAC",
    "--allow-privileged=true",
    "--service-account-issuer=https://testbed.invalid",
    `--service-account-key-file=${files.accountPublicKey}`,
    `--service-account-signing-key-file=${files.accountKey}`,
    "--service-cluster-ip-range=10.96.0.0/24",
    // It listens on loopback only, which is no address for the endpoints of a service.
    "--endpoint-reconciler-type=none",
    `--audit-policy-file=${files.auditPolicy}`,
    `--audit-log-path=${files.auditLog}`,
    // Megabytes: the log stays one file, however long a load runs.
    "--audit-log-maxsize=100000",
  ];
}

export function controllerManagerArguments(port: number): string[] {
  return [
    ...componentArguments(port),
    `--service-account-private-key-file=${files.accountKey}`,
    `--root-ca-file=${files.ca}`,
  ];
}

export function schedulerArguments(port: number): string[] {
  return componentArguments(port);
}

function componentArguments(port: number): string[] {
  return [
    `--kubeconfig=${files.adminKubeconfig}`,
    `--authentication-kubeconfig=${files.adminKubeconfig}`,
    `--authorization-kubeconfig=${files.adminKubeconfig}`,
    "--leader-elect=false",
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--tls-cert-file=${files.certificate}`,
    `--tls-private-key-file=${files.key}`,
  ];
}
