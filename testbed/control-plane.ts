import { Authority } from "./certificates.ts";
import { removeState, writeCertificates, writeLastingFiles } from "./control-plane-files.ts";
import { controlPlanePrograms, ControlPlaneServers } from "./control-plane-servers.ts";
import type { ControlPlaneOptions, ControlPlanePrograms } from "./control-plane-servers.ts";
import { freePort } from "./free-port.ts";
import { guardedDirectory } from "./guarded-directory.ts";
import type { GuardedDirectory } from "./guarded-directory.ts";
import { writeKubeconfig } from "./kubeconfig-file.ts";
import { TestCluster } from "./test-cluster.ts";

/**
 * Starts etcd and an API server, and more where asked for, on a free port and in a folder of their
 * own. All of it is gone after `stop`, and when this process ends in whatever way.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const programs = await controlPlanePrograms();
  for (let attempt = 1; ; attempt++) {
    try {
      return await ControlPlane.start(programs, options);
    } catch (error) {
      // Somebody else was faster on the port that was free a second ago.
      if (attempt === 3 || !String(error).includes("address already in use")) throw error;
    }
  }
}

/** A cluster of this test run's own, and all that can be done to it. */
export class ControlPlane extends TestCluster implements AsyncDisposable {
  readonly #folder: GuardedDirectory;
  readonly #servers: ControlPlaneServers;

  private constructor(
    programs: ControlPlanePrograms,
    options: ControlPlaneOptions,
    place: { readonly folder: GuardedDirectory; readonly port: number },
    authority: Authority,
  ) {
    const { folder, port } = place;
    super({ dir: folder.path, port, kubectl: programs.kubectl }, authority);
    this.#folder = folder;
    this.#servers = new ControlPlaneServers(programs, options, this, this.api);
  }

  static async start(
    programs: ControlPlanePrograms,
    options: ControlPlaneOptions,
  ): Promise<ControlPlane> {
    const authority = await Authority.make();
    const place = {
      folder: await guardedDirectory("larder-control-plane-"),
      port: await freePort(),
    };
    const plane = new ControlPlane(programs, options, place, authority);
    try {
      await writeLastingFiles(plane.dir, plane.adminToken);
      await plane.#writeCertificates();
      await plane.#servers.startAll();
      return plane;
    } catch (error) {
      await plane.stop();
      throw error;
    }
  }

  /** Process ids by name (`etcd`, `apiServer`, ...), of those that run. */
  get pids(): Readonly<Record<string, number>> {
    return this.#servers.pids;
  }

  /** @param how `kill`: as in a crash */
  async stopApiServer(how: "terminate" | "kill" = "terminate"): Promise<void> {
    await this.#servers.stopApiServer(how);
  }

  /** Starts it on the same port with the same data, and waits until it is ready. */
  async startApiServer(): Promise<void> {
    await this.#servers.startApiServer();
  }

  async restartApiServer(how?: "terminate" | "kill"): Promise<void> {
    await this.stopApiServer(how);
    await this.startApiServer();
  }

  /** Connections are accepted and nothing is answered, until `resumeApiServer`. */
  pauseApiServer(): void {
    this.#servers.signalApiServer("SIGSTOP");
  }

  resumeApiServer(): void {
    this.#servers.signalApiServer("SIGCONT");
  }

  /**
   * A cluster rebuilt from nothing: everything is killed, etcd's data removed, everything started.
   * Port, certificates and the admin's token stay; service accounts and their tokens do not.
   */
  async wipe(): Promise<void> {
    await this.#servers.killAll();
    await removeState(this.dir);
    await this.#servers.startAll();
  }

  /**
   * Gives the API server another certificate while it runs, and waits until it is in use. Of
   * kubeconfigs, only the admin's follows a new authority.
   * @param authority `new`: clients have to learn whom to trust
   */
  async rotateServingCertificate(authority: "new" | "same" = "new"): Promise<void> {
    if (authority === "new") this.authority = await Authority.make();
    await this.#servers.untilServing(await this.#writeCertificates());
  }

  /** Stops all and removes the folder. Safe to call twice. */
  async stop(): Promise<void> {
    this.api.close();
    await this.#servers.killAll();
    await this.#folder.remove();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** @returns the API server's new certificate */
  async #writeCertificates(): Promise<string> {
    const certificates = await this.authority.issue();
    await writeCertificates(this.dir, certificates);
    const content = { server: this.url, ca: this.ca, token: this.adminToken };
    await writeKubeconfig(this.adminKubeconfig, content);
    return certificates.certificate;
  }
}
