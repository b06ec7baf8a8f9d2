import { hasCode, interrupted, LarderError } from "../errors.ts";
import { ChangingFile, describeFileError } from "./changing-file.ts";
import { askHelper } from "./credential-helper.ts";
import { namedPlace, unreadable, usualPlaces, type Place } from "./credential-places.ts";
import { scopesFor, serversOf } from "./credential-scope.ts";
import {
  credentialOf,
  parseDockerConfig,
  type Credential,
  type DockerConfig,
} from "./docker-config.ts";
import type { Notify } from "./image.ts";

export type { Credential } from "./docker-config.ts";

export interface CredentialStoreOptions {
  /**
   * `--registry-config`: a config.json or a directory that holds one, and the only place then.
   * Default: the usual places, see `usualPlaces`.
   */
  readonly path?: string;
  /** For finding the usual places, and for running helpers. */
  readonly environment: NodeJS.ProcessEnv;
  /** Default: HOME of `environment`. */
  readonly home?: string;
  readonly notify: Notify;
  /** Milliseconds until a credential helper counts as hung; default 30,000. */
  readonly helperTimeoutMs?: number;
}

/** The credentials that docker, podman and their kin have on this machine. Files are read anew when they change. */
export class CredentialStore {
  readonly #options: CredentialStoreOptions;
  readonly #files = new Map<string, ChangingFile<DockerConfig>>();
  readonly #warned = new Set<string>();

  constructor(options: CredentialStoreOptions) {
    this.#options = options;
  }

  /**
   * Reads every configuration file that somebody named, so that a bad one is known at once and not
   * at the first registry that asks for credentials.
   *
   * @throws LarderError `usage` naming the file that is missing or malformed
   */
  async check(): Promise<void> {
    for (const place of await this.#places()) if (place.named) await this.#read(place);
  }

  /**
   * The credential for a repository, that of the longest matching scope; undefined where nobody
   * has one. In one scope a credential helper comes before what a file itself holds.
   *
   * @throws LarderError `usage` naming the named file that is missing or malformed; `auth` naming the
   *   other file that is malformed, the entry that is, or the helper that failed; `interrupted`
   */
  async lookup(
    registry: string,
    repository: string,
    signal: AbortSignal,
  ): Promise<Credential | undefined> {
    const configs = await this.#configs();
    const scopes = scopesFor(registry, repository);
    for (const scope of scopes) {
      const isRegistry = scope === scopes.at(-1);
      for (const config of configs) {
        const helper = config.helpers.get(scope) ?? (isRegistry ? config.store : undefined);
        const found = (await this.#ask(helper, scope, config, signal)) ?? fromFile(config, scope);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }

  async #ask(
    helper: string | undefined,
    scope: string,
    config: DockerConfig,
    signal: AbortSignal,
  ): Promise<Credential | undefined> {
    if (helper === undefined || helper === "") return undefined;
    const { environment, helperTimeoutMs } = this.#options;
    const timeout = helperTimeoutMs === undefined ? {} : { timeoutMs: helperTimeoutMs };
    for (const server of serversOf(scope)) {
      if (signal.aborted) throw interrupted(`finding the credentials of ${scope}`, signal.reason);
      const answer = await askHelper(helper, server, { environment, signal, ...timeout });
      if (answer.kind === "found") return answer.credential;
      if (answer.kind === "not-installed") {
        this.#warnOnce(
          `${config.file} names the credential helper docker-credential-${helper}, which is not installed; going on without it`,
        );
        return undefined;
      }
    }
    return undefined;
  }

  async #places(): Promise<readonly Place[]> {
    const { path, environment, home = environment["HOME"] } = this.#options;
    return path === undefined ? usualPlaces(environment, home) : [await namedPlace(path)];
  }

  async #configs(): Promise<DockerConfig[]> {
    const configs: DockerConfig[] = [];
    for (const place of await this.#places()) {
      const config = await this.#read(place);
      if (config !== undefined) configs.push(config);
    }
    return configs;
  }

  async #read({ path, named }: Place): Promise<DockerConfig | undefined> {
    try {
      return await this.#file(path, named).read();
    } catch (error) {
      if (error instanceof LarderError) throw error;
      const why = describeFileError(error);
      if (named) throw unreadable(path, why, error);
      if (!hasCode(error, "ENOENT", "ENOTDIR"))
        this.#warnOnce(`going on without the registry configuration ${path}: ${why}`);
      return undefined;
    }
  }

  #file(path: string, named: boolean): ChangingFile<DockerConfig> {
    const known = this.#files.get(path);
    if (known !== undefined) return known;
    const parse = (bytes: Buffer) => parseDockerConfig(bytes.toString("utf8"), path, named);
    const file = new ChangingFile(path, parse);
    this.#files.set(path, file);
    return file;
  }

  #warnOnce(message: string): void {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    this.#options.notify({ kind: "warning", message });
  }
}

function fromFile(config: DockerConfig, scope: string): Credential | undefined {
  const entry = config.entries.get(scope);
  return entry && credentialOf(entry, config.file);
}
