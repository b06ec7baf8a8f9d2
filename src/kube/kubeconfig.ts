import type { RequestOptions } from "node:https";
import { dirname } from "node:path";

import { KubeConfig, type Cluster, type User } from "@kubernetes/client-node";

import { ChangingFile } from "../registry/changing-file.ts";
import type { Access, TlsOptions } from "./access.ts";
import { withExecInfo } from "./exec-plugin.ts";
import {
  clusterOf,
  credentialFault,
  fileFault,
  proxyOf,
  serverOf,
  userOf,
} from "./kubeconfig-fault.ts";

/** What the current context comes to. */
interface Loaded {
  readonly config: KubeConfig;
  readonly cluster: Cluster;
  readonly user: User;
}

interface Credentials {
  readonly tls: TlsOptions;
  readonly authorization: string | undefined;
}

/** Milliseconds for which credentials are taken as they were: each look reads files, or runs a plug-in. */
const freshMs = 30_000;
/** Milliseconds for a credential plug-in. */
const pluginMs = 60_000;

/**
 * The access that a kubeconfig's current context gives: certificates, tokens, passwords, credential
 * plug-ins. A named file is read again when it changes.
 *
 * @param path undefined: `$KUBECONFIG`, or `~/.kube/config`
 * @throws LarderError `usage` naming the file, and what is missing or malformed in it
 */
export async function kubeconfigAccess(path: string | undefined): Promise<Access> {
  const source = path === undefined ? new DefaultFiles() : new NamedFile(path);
  const { cluster, user } = await source.load();
  const server = serverOf(cluster, source.name);
  const proxy = proxyOf(cluster, source.name);
  const credentials = new CredentialReader(source);
  return {
    server,
    ...(proxy && { proxy }),
    ...(user.impersonateUser && { headers: { "Impersonate-User": user.impersonateUser } }),
    tls: async () => (await credentials.read(false)).tls,
    authorization: async (refused = false) => {
      // In plain text anybody on the way could take them.
      if (server.protocol === "http:") return undefined;
      return (await credentials.read(refused)).authorization;
    },
  };
}

interface Source {
  /** For messages. */
  readonly name: string;
  /** @param again even where nothing seems to have changed */
  load(again?: boolean): Promise<Loaded>;
}

class NamedFile implements Source {
  readonly name: string;
  readonly #file: ChangingFile<string>;
  #last: { readonly text: string; readonly loaded: Loaded } | undefined;

  constructor(path: string) {
    this.name = path;
    this.#file = new ChangingFile(path, (bytes) => bytes.toString("utf8"));
  }

  async load(again = false): Promise<Loaded> {
    try {
      const text = await this.#file.read();
      if (again || this.#last?.text !== text) this.#last = { text, loaded: this.#parse(text) };
      return this.#last.loaded;
    } catch (error) {
      throw fileFault(error, this.name);
    }
  }

  #parse(text: string): Loaded {
    const dir = dirname(this.name);
    const config = new KubeConfig();
    config.loadFromString(text);
    config.makePathsAbsolute(dir);
    return loaded(config, this.name, { dir, text });
  }
}

/** The files that kubectl would take; their reader finds and joins them. */
class DefaultFiles implements Source {
  readonly name = "of $KUBECONFIG or ~/.kube/config";
  #loaded: Loaded | undefined;

  async load(again = false): Promise<Loaded> {
    if (again) this.#loaded = undefined;
    try {
      this.#loaded ??= this.#read();
    } catch (error) {
      throw fileFault(error, this.name);
    }
    return Promise.resolve(this.#loaded);
  }

  #read(): Loaded {
    const config = new KubeConfig();
    // As with kubectl, the first of several files says which context is the current one.
    config.loadFromDefault(undefined, true);
    return loaded(config, this.name, {});
  }
}

function loaded(
  config: KubeConfig,
  name: string,
  { dir, text }: { readonly dir?: string; readonly text?: string },
): Loaded {
  const cluster = clusterOf(config, name);
  const user = withExecInfo(userOf(config, name, text), cluster, dir);
  // One of each: without a user it would pass over the cluster's CA.
  const current = new KubeConfig();
  current.loadFromClusterAndUser(cluster, user);
  return { config: current, cluster, user };
}

/** Certificates and header of now, looked up again when they are old or were refused. */
class CredentialReader {
  readonly #source: Source;
  #last:
    | { readonly credentials: Credentials; readonly from: Loaded; readonly at: number }
    | undefined;

  constructor(source: Source) {
    this.#source = source;
  }

  async read(refused: boolean): Promise<Credentials> {
    const from = await this.#source.load(refused);
    const last = this.#last;
    const fresh = last?.from === from && performance.now() - last.at < freshMs;
    if (fresh) return last.credentials;
    const credentials = await this.#look(from);
    this.#last = { credentials, from, at: performance.now() };
    return credentials;
  }

  async #look({ config, cluster, user }: Loaded): Promise<Credentials> {
    const caSource = cluster.caFile ?? `the kubeconfig ${this.#source.name}`;
    if (cluster.server.startsWith("http:")) return { tls: { caSource }, authorization: undefined };
    const options: RequestOptions = {};
    try {
      await within(pluginMs, config.applyToHTTPSOptions(options));
    } catch (error) {
      throw credentialFault(error, this.#source.name, user);
    }
    return {
      tls: {
        caSource,
        ...pem("ca", options.ca),
        ...pem("cert", options.cert),
        ...pem("key", options.key),
        ...(options.servername !== undefined && { servername: options.servername }),
        ...(options.rejectUnauthorized === false && { rejectUnauthorized: false }),
      },
      authorization: authorizationOf(options),
    };
  }
}

function pem(name: "ca" | "cert" | "key", value: RequestOptions[typeof name]) {
  if (typeof value === "string") return { [name]: value };
  return Buffer.isBuffer(value) ? { [name]: value.toString("latin1") } : {};
}

function authorizationOf({ auth, headers }: RequestOptions): string | undefined {
  if (auth) return `Basic ${Buffer.from(auth).toString("base64")}`;
  const value = headers && "Authorization" in headers ? headers["Authorization"] : undefined;
  return typeof value === "string" ? value.trim() : undefined;
}

/** A plug-in took longer than a person would wait. */
async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new Error(`it took more than ${milliseconds / 1000} s`));
  }, milliseconds);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
