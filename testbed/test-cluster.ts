import { randomBytes } from "node:crypto";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Access } from "../src/kube/access.ts";
import { ApiRequests } from "./api-requests.ts";
import type { RawAnswer, RawRequest } from "./api-requests.ts";
import { AuditLog } from "./audit-log.ts";
import type { Authority } from "./certificates.ts";
import { runCommand } from "./command.ts";
import { files } from "./control-plane-files.ts";
import { writeKubeconfig } from "./kubeconfig-file.ts";
import { requestToken } from "./service-account.ts";
import type { ServiceAccount } from "./service-account.ts";

export interface ClusterPlace {
  readonly dir: string;
  readonly port: number;
  /** The path of the program. */
  readonly kubectl: string;
}

/** What an API server on this machine can be asked, and by whom. */
export class TestCluster {
  /** The same as long as it lives, also after a wipe. */
  readonly port: number;
  /** `https://127.0.0.1:23456`. */
  readonly url: string;
  /** Its folder: `apiServer.log`, `etcd.log`, keys, kubeconfigs. */
  readonly dir: string;
  /** A static token of a member of system:masters; it survives a wipe. */
  readonly adminToken = randomBytes(16).toString("hex");
  readonly adminKubeconfig: string;
  readonly audit: AuditLog;
  protected readonly api: ApiRequests;
  protected authority: Authority;
  readonly #kubectl: string;
  #kubeconfigs = 0;

  protected constructor({ dir, port, kubectl }: ClusterPlace, authority: Authority) {
    this.dir = dir;
    this.port = port;
    this.url = `https://127.0.0.1:${port}`;
    this.adminKubeconfig = join(dir, files.adminKubeconfig);
    this.audit = new AuditLog(join(dir, files.auditLog));
    this.authority = authority;
    this.api = new ApiRequests(this.url, this.adminToken, () => this.ca);
    this.#kubectl = kubectl;
  }

  /** PEM of the authority that the API server's certificate is from. */
  get ca(): string {
    return this.authority.certificate;
  }

  /** Runs kubectl as the admin. @returns standard output */
  async kubectl(...args: readonly string[]): Promise<string> {
    const env = {
      KUBECONFIG: this.adminKubeconfig,
      KUBECACHEDIR: join(this.dir, files.kubectlCache),
    };
    return (await runCommand(this.#kubectl, args, { env })).stdout;
  }

  /** Applies a file, or a folder of manifests or of kustomize, on the server's side as the admin. */
  async apply(path: string): Promise<void> {
    const kustomization = await stat(join(path, "kustomization.yaml")).catch(() => undefined);
    await this.kubectl("apply", "--server-side", kustomization ? "-k" : "-f", path);
  }

  /** A request as the admin, or with another token; the answer whatever its status. */
  raw(path: string, request?: RawRequest): Promise<RawAnswer> {
    return this.api.send(path, request);
  }

  /** A request as the admin, or with another token, that has to succeed; its answer. */
  ask(path: string, request?: RawRequest): Promise<unknown> {
    return this.api.ask(path, request);
  }

  /**
   * How a client reaches it: as the admin or with another token, directly or over a `TcpLink`'s
   * url. It trusts the authority of the day.
   */
  access(token = this.adminToken, server = this.url): Access {
    return {
      server: new URL(server),
      tls: () => Promise.resolve({ ca: this.ca }),
      authorization: () => Promise.resolve(`Bearer ${token}`),
    };
  }

  /** A token of an existing service account, which ends with the account, so also by a wipe. */
  serviceAccountToken(account: ServiceAccount): Promise<string> {
    return requestToken(this.api, account);
  }

  /** @returns the path of a new kubeconfig with a new token; `server` as in `writeKubeconfig` */
  async serviceAccountKubeconfig(account: ServiceAccount, server = this.url): Promise<string> {
    return this.writeKubeconfig(await this.serviceAccountToken(account), server);
  }

  /**
   * @param server where it points: a `TcpLink`'s url in place of the API server's own
   * @returns the path of a new kubeconfig
   */
  async writeKubeconfig(token = this.adminToken, server = this.url): Promise<string> {
    const path = join(this.dir, `${++this.#kubeconfigs}.kubeconfig`);
    await writeKubeconfig(path, { server, ca: this.ca, token });
    return path;
  }

  /**
   * Writes `token`, `ca.crt` and `namespace` into a folder, as a pod finds them in its projected
   * volume; again into the same folder for a rotation.
   */
  async writeServiceAccountFolder(dir: string, account: ServiceAccount): Promise<void> {
    const token = await this.serviceAccountToken(account);
    await mkdir(dir, { recursive: true });
    await writeFile(join(dir, "ca.crt"), this.ca);
    await writeFile(join(dir, "namespace"), account.namespace);
    await writeFile(join(dir, "token"), token, { mode: 0o600 });
  }
}
