import { parseChallenges } from "./challenge.ts";
import type { Challenge } from "./challenge.ts";
import type { Credential } from "./credentials.ts";
import { Failure } from "./failure.ts";
import { realmOf } from "./realm.ts";
import { noCredentials } from "./refusal.ts";
import type { RefusalContext } from "./refusal.ts";
import { basicHeader, fetchToken } from "./token.ts";
import type { Send } from "./transport.ts";
import { untilAborted } from "./until-aborted.ts";

/** Whoever knows credentials. */
export interface CredentialSource {
  lookup(
    registry: string,
    repository: string,
    signal: AbortSignal,
  ): Promise<Credential | undefined>;
}

export interface AuthorityOptions extends RefusalContext {
  readonly credentials: CredentialSource;
  /** A transport that follows nothing and adds nothing. */
  readonly send: Send;
  readonly insecure: (url: URL) => boolean;
}

/** What one may do at a repository; tokens are for one of these each. */
export interface Access {
  readonly registry: string;
  readonly repository: string;
  readonly action: "pull";
}

/** A 401: what the server offers and who said so. */
export interface Demand {
  /** What was asked for, for messages. */
  readonly what: string;
  readonly url: URL;
  readonly challenges: string;
}

/** The right to ask, as it goes into a header. */
export interface Grant {
  readonly header: string;
  /** Whether a credential stands behind it. */
  readonly signedIn: boolean;
  readonly demand: Demand;
  /** All that a server could echo of it: the header's value, and the credential that it was got with. */
  readonly secrets: readonly string[];
  /** By the monotonic clock, in milliseconds. */
  readonly expires: number;
}

/** A token is renewed when this many milliseconds remain, or a fifth of its life where that is less. */
const margin = 10_000;

/** Keeps the grants of every repository, and gets new ones, each once however many ask at a time. */
export class Authority {
  readonly #options: AuthorityOptions;
  readonly #grants = new Map<string, Grant>();
  readonly #underway = new Map<string, Promise<Grant>>();
  readonly #closing = new AbortController();

  constructor(options: AuthorityOptions) {
    this.#options = options;
  }

  /** The grant at hand, renewed where it is about to expire; undefined before the first 401. */
  async current(access: Access, signal: AbortSignal): Promise<Grant | undefined> {
    const grant = this.#grants.get(keyOf(access));
    if (grant === undefined) return undefined;
    if (this.#options.clock.monotonic() < grant.expires) return this.#used(grant);
    return this.answer(access, grant.demand, grant, signal);
  }

  /**
   * Answers a 401.
   * @param used the grant that was refused; a newer one that another request got is taken as it is
   * @throws Failure `auth`, `network`; LarderError `interrupted`
   */
  async answer(
    access: Access,
    demand: Demand,
    used: Grant | undefined,
    signal: AbortSignal,
  ): Promise<Grant> {
    const key = keyOf(access);
    const known = this.#grants.get(key);
    if (known !== undefined && known !== used) return this.#used(known);
    let underway = this.#underway.get(key);
    if (underway === undefined) {
      underway = this.#obtain(access, demand).finally(() => this.#underway.delete(key));
      this.#underway.set(key, underway);
    }
    return untilAborted(underway, demand.what, signal);
  }

  close(): void {
    this.#closing.abort();
  }

  /** Under no caller's signal: others may wait for the same grant. */
  async #obtain(access: Access, demand: Demand): Promise<Grant> {
    this.#grants.delete(keyOf(access));
    const { signal } = this.#closing;
    const credential = await this.#options.credentials.lookup(
      access.registry,
      access.repository,
      signal,
    );
    const behind = credential === undefined ? [] : secretsOf(credential);
    this.#remember(behind);
    const { header, expires } = await this.#headerFor(access, demand, credential);
    const secrets = [...behind, header.slice(header.indexOf(" ") + 1)];
    const grant = { header, expires, demand, secrets, signedIn: credential !== undefined };
    this.#grants.set(keyOf(access), grant);
    return this.#used(grant);
  }

  /** What is about to be sent must not be shown when the answer echoes it. */
  #used(grant: Grant): Grant {
    this.#remember(grant.secrets);
    return grant;
  }

  #remember(secrets: readonly string[]): void {
    for (const secret of secrets) this.#options.secrets.add(secret);
  }

  async #headerFor(
    access: Access,
    demand: Demand,
    credential: Credential | undefined,
  ): Promise<{ header: string; expires: number }> {
    const challenges = parseChallenges(demand.challenges);
    const bearer = challenges.find(({ scheme }) => scheme === "bearer");
    const basic = challenges.some(({ scheme }) => scheme === "basic");
    if (credential?.kind === "registry-token" && bearer) {
      return { header: `Bearer ${credential.token}`, expires: Infinity };
    }
    // Basic instead of Bearer only where that is all there is: a token is worth less when stolen.
    if (!bearer && !basic) throw unknownScheme(demand, challenges);
    if (bearer) return this.#bearer(access, demand, bearer, credential);
    if (credential?.kind !== "basic") throw needsPassword(demand, credential);
    return { header: basicHeader(credential.username, credential.password), expires: Infinity };
  }

  async #bearer(
    { registry, repository, action }: Access,
    { what, url }: Demand,
    challenge: Challenge,
    credential: Credential | undefined,
  ): Promise<{ header: string; expires: number }> {
    const { clock, insecure, send } = this.#options;
    const realm = realmOf(challenge, what, url, insecure);
    const scope = challenge.parameters.get("scope")?.trim() ?? "";
    const asked = clock.monotonic();
    const question = {
      repository: `${registry}/${repository}`,
      realm,
      service: challenge.parameters.get("service"),
      scopes: scope === "" ? [`repository:${repository}:${action}`] : scope.split(/\s+/),
      untrusted: realm.hostname !== url.hostname,
    };
    const { signal } = this.#closing;
    const { value, lifetimeMs } = await fetchToken(
      question,
      credential,
      send,
      this.#options,
      signal,
    );
    const expires = asked + lifetimeMs - Math.min(margin, lifetimeMs / 5);
    return { header: `Bearer ${value}`, expires };
  }
}

function keyOf({ registry, repository, action }: Access): string {
  return `${registry} ${repository} ${action}`;
}

function secretsOf(credential: Credential): readonly string[] {
  if (credential.kind !== "basic") return [credential.token];
  return [credential.username, credential.password];
}

function unknownScheme(demand: Demand, challenges: readonly Challenge[]): Failure {
  const offered = challenges.map(({ scheme }) => scheme).join(", ") || "none";
  return new Failure("auth", {
    what: `cannot sign in for ${demand.what}`,
    why: `${demand.url.host} asks for credentials in no way that Larder knows (offered: ${offered})`,
    todo: "have the registry offer Bearer or Basic authentication",
  });
}

function needsPassword(demand: Demand, credential: Credential | undefined): Failure {
  return new Failure("auth", {
    what: `cannot sign in for ${demand.what}`,
    why: `${demand.url.host} asks for a user name and a password`,
    todo:
      credential === undefined
        ? noCredentials
        : "the credentials for it hold a token alone; give a user name and a password in --registry-config",
  });
}
