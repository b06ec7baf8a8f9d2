import type { Cluster, KubeConfig, User } from "@kubernetes/client-node";

import { isSystemError, LarderError } from "../errors.ts";
import { describeFileError } from "../registry/changing-file.ts";
import { pluginOf } from "./exec-plugin.ts";

/** @throws LarderError `usage` where the current context leads to no cluster */
export function clusterOf(config: KubeConfig, name: string): Cluster {
  const context = contextOf(config, name);
  const cluster = config.getCluster(context.cluster);
  if (cluster !== null) return cluster;
  throw fault(name, `its context ${context.name} names a cluster that is not in it`, checkContext);
}

/** @throws LarderError `usage` where the current context leads to no user that can be used */
export function userOf(config: KubeConfig, name: string, text: string | undefined): User {
  const context = contextOf(config, name);
  // A context need not have one.
  if (!context.user) return { name: "anonymous" };
  const user = config.getUser(context.user);
  if (user === null) {
    throw fault(name, `its context ${context.name} names a user that is not in it`, checkContext);
  }
  if (isAnonymous(user) && text !== undefined && /(?:^|[\s{,])["']?tokenFile["']?\s*:/.test(text)) {
    throw fault(
      name,
      `its user ${user.name} has a tokenFile, which Larder does not read`,
      "put the token in, or use an exec plug-in that prints it",
    );
  }
  return user;
}

function isAnonymous(user: User): boolean {
  const { certData, certFile, exec, authProvider, token, username } = user;
  return !certData && !certFile && !exec && !authProvider && !token && !username;
}

function contextOf(config: KubeConfig, name: string) {
  const current = config.getCurrentContext();
  if (current === "loaded-context") {
    // What its reader makes up where there is no file at all.
    throw fault(name, "there is none", "name one with --kubeconfig");
  }
  if (!current) throw fault(name, "it has no current context", checkContext);
  const context = config.getContextObject(current);
  if (context !== null) return context;
  const known = config
    .getContexts()
    .map((each) => each.name)
    .join(", ");
  throw fault(name, `its current context ${current} is not in it (it has: ${known})`, checkContext);
}

const checkContext = "choose a context with `kubectl config use-context`";

/** @throws LarderError `usage` where the cluster's server is no address */
export function serverOf({ server }: Cluster, name: string): URL {
  const url = URL.parse(server);
  if (url !== null && /^https?:$/.test(url.protocol) && !url.username && !url.search) return url;
  throw fault(name, "the server of its cluster is no https URL", "correct it");
}

/** @throws LarderError `usage` where the cluster's proxy is none that can be used */
export function proxyOf({ proxyUrl }: Cluster, name: string): URL | undefined {
  if (!proxyUrl) return undefined;
  const url = URL.parse(proxyUrl);
  if (url !== null && /^https?:$/.test(url.protocol)) return url;
  throw fault(
    name,
    "the proxy-url of its cluster is no http or https URL",
    "use an HTTP proxy: Larder knows no SOCKS",
  );
}

/** A kubeconfig that cannot be read. Parsers quote what they read, so their words are left out. */
export function fileFault(error: unknown, name: string): LarderError {
  if (error instanceof LarderError) return error;
  return fault(
    name,
    whyUnreadable(error, name),
    "name a kubeconfig file that kubectl takes",
    error,
  );
}

function whyUnreadable(error: unknown, name: string): string {
  if (isSystemError(error)) {
    const { path } = error;
    const other = path !== undefined && path !== name ? `of ${path}: ` : "";
    return other + describeFileError(error);
  }
  // The YAML parser's own class; its reason says what is wrong without quoting.
  if (error instanceof Error && error.name === "YAMLException") return "it is empty, or no YAML";
  if (error instanceof TypeError) return "it is no kubeconfig";
  if (
    error instanceof Error &&
    /^(?:(?:clusters|users|contexts)\[\d+\]|Duplicate \w+:)/.test(error.message)
  ) {
    return error.message;
  }
  return describeFileError(error);
}

/** Credentials that cannot be had at the moment. */
export function credentialFault(error: unknown, name: string, user: User): LarderError {
  const plugin = pluginOf(user);
  if (plugin === undefined) {
    const why = isSystemError(error)
      ? `${error.path ?? "a file that it names"}: ${describeFileError(error)}`
      : "its credentials cannot be used";
    return fault(name, why, "check the certificates and tokens that it names", error);
  }
  return fault(
    name,
    `its credential plug-in ${plugin} ${whyPluginFailed(error)}`,
    `run ${plugin} by hand, as the kubeconfig has it`,
    error,
  );
}

const longestWords = 300;

function whyPluginFailed(error: unknown): string {
  if (isSystemError(error)) return `cannot be started (${error.code})`;
  // Its output may hold a token, and these errors quote it.
  if (error instanceof SyntaxError || error instanceof TypeError) return "printed no credential";
  const words = error instanceof Error ? error.message.trim() : "";
  return `failed${words === "" ? "" : `, saying "${words.slice(0, longestWords)}"`}`;
}

function fault(name: string, why: string, todo: string, cause?: unknown): LarderError {
  return new LarderError("usage", {
    what: `cannot use the kubeconfig ${name}`,
    why,
    todo,
    cause,
    retryable: cause !== undefined,
  });
}
