import { interrupted } from "../errors.ts";
import { Agents } from "./agents.ts";
import { authenticated } from "./auth.ts";
import { Authority } from "./authority.ts";
import { systemClock } from "./clock.ts";
import type { Clock } from "./clock.ts";
import { CredentialStore } from "./credentials.ts";
import type { Digest } from "./digest.ts";
import type { Image, Notify } from "./image.ts";
import { insecureFallback, insecureHosts } from "./insecure.ts";
import { defaultLimits } from "./limits.ts";
import type { Limits } from "./limits.ts";
import type { Platform } from "./platform.ts";
import { redirecting } from "./redirect.ts";
import { formatReference } from "./reference.ts";
import type { Reference } from "./reference.ts";
import { Repository } from "./repository.ts";
import { resolveImage } from "./resolve.ts";
import { rewriteReference } from "./rewrite.ts";
import type { Rewrite } from "./rewrite.ts";
import { Secrets } from "./secrets.ts";
import { transport } from "./transport.ts";
import type { Send, TransportOptions } from "./transport.ts";
import { TrustStore } from "./trust.ts";

export interface RegistryOptions {
  /** Where the proxy variables and the places of docker's config.json are read. */
  readonly environment: NodeJS.ProcessEnv;
  /** A docker config.json, instead of the usual places. */
  readonly configPath?: string;
  /** A file or directory of PEM certificates to trust besides the machine's. */
  readonly caPath?: string;
  /** `host[:port]`, as in references: https without verification, then plain http. */
  readonly insecure?: readonly string[];
  readonly rewrites?: readonly Rewrite[];
  readonly notify: Notify;
  /** Default `larder`. */
  readonly userAgent?: string;
  // What follows is for tests.
  readonly limits?: Partial<Limits>;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly lookup?: TransportOptions["lookup"];
}

/**
 * All registries that a process pulls from: connections, tokens and credentials are shared between
 * its pulls. `close` when done.
 */
export class Registry {
  readonly #options: RegistryOptions;
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #secrets = new Secrets();
  readonly #credentials: CredentialStore;
  readonly #trust: TrustStore;
  readonly #agents: Agents;
  readonly #authority: Authority;
  readonly #send: Send;
  #checked = false;

  /** @throws LarderError `usage` when an option is malformed */
  constructor(options: RegistryOptions) {
    const insecure = insecureHosts(options.insecure ?? []);
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#clock = options.clock ?? systemClock;
    const { environment, notify, configPath, lookup, userAgent = "larder" } = options;
    const { stallMs, redirects } = this.#limits;
    this.#trust = new TrustStore(options.caPath);
    this.#credentials = new CredentialStore({
      environment,
      notify,
      ...(configPath !== undefined && { path: configPath }),
    });
    this.#agents = new Agents({ trust: this.#trust, environment, insecure });
    const bare = transport({ agents: this.#agents, userAgent, stallMs, ...(lookup && { lookup }) });
    this.#authority = new Authority({
      ...this.#refusals(),
      credentials: this.#credentials,
      send: bare,
      insecure,
    });
    this.#send = redirecting(insecureFallback(bare, insecure), { limit: redirects, insecure });
  }

  /**
   * The image that a reference names, for one platform. Its layers are not read yet; they are fetched
   * as they are opened, and resumed where a connection drops.
   * @throws LarderError `auth`, `not-found`, `network`, `registry`, `digest`, `platform`, `image`,
   * `interrupted`; `usage` for a named configuration or CA file that is missing or malformed
   */
  async image(reference: Reference, platform: Platform, signal: AbortSignal): Promise<Image> {
    if (signal.aborted) {
      throw interrupted(`cannot get ${formatReference(reference)}`, signal.reason);
    }
    const { repository, target } = await this.#locate(reference);
    const root = await repository.root(target, signal);
    return resolveImage(repository, root, platform, signal);
  }

  /**
   * What a reference names now, an index where it names one: `Image.resolved` without the image. One
   * HEAD request, or a GET where the registry answers no HEAD.
   * @throws LarderError as `image` does
   */
  async resolved(reference: Reference, signal: AbortSignal): Promise<Digest> {
    if (signal.aborted) {
      throw interrupted(`cannot ask for ${formatReference(reference)}`, signal.reason);
    }
    const { repository, target } = await this.#locate(reference);
    const digest = await repository.head(target, signal);
    return digest ?? (await repository.root(target, signal)).descriptor.digest;
  }

  /** Ends every connection; what is still being read fails. */
  close(): void {
    this.#authority.close();
    this.#agents.close();
  }

  async #locate(reference: Reference): Promise<{ repository: Repository; target: Reference }> {
    await this.#checkNamedFiles();
    const target = rewriteReference(this.#options.rewrites ?? [], reference);
    return { repository: this.#repository(target, nameOf(reference, target)), target };
  }

  /** What somebody named must be right, also where nobody comes to ask for it. */
  async #checkNamedFiles(): Promise<void> {
    if (this.#checked) return;
    await this.#credentials.check();
    if (this.#options.caPath !== undefined) await this.#trust.certificates();
    this.#checked = true;
  }

  #repository({ registry, repository }: Reference, where: string): Repository {
    const { notify, random = Math.random } = this.#options;
    return new Repository({
      where,
      base: new URL(`https://${hostOf(registry)}/v2/${repository}/`),
      send: authenticated(this.#send, this.#authority, { registry, repository, action: "pull" }),
      retry: { limits: this.#limits, clock: this.#clock, random, notify },
      refusals: this.#refusals(),
    });
  }

  #refusals() {
    return { secrets: this.#secrets, limits: this.#limits, clock: this.#clock };
  }
}

/** Docker Hub's registry answers under another name than its images have. */
function hostOf(registry: string): string {
  return registry === "docker.io" ? "registry-1.docker.io" : registry;
}

function nameOf(asked: Reference, target: Reference): string {
  const [from, to] = [formatReference(asked), formatReference(target)];
  return from === to ? to : `${to} (for ${from})`;
}
