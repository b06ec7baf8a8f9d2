/**
 * A scope is what a credential is for: `registry` or `registry/path`, where path is the first
 * components of a repository. Docker Hub's several names are all `docker.io` here.
 */

const hubNames: ReadonlySet<string> = new Set([
  "docker.io",
  "index.docker.io",
  "registry-1.docker.io",
]);

/** Under which name `docker login` files Docker Hub, and what helpers expect to be asked for. */
const hubServer = "https://index.docker.io/v1/";

/** The scope of a key of `auths` or `credHelpers`: a host, a host with a path, or a URL. */
export function scopeOf(key: string): string {
  const scheme = /^https?:\/\//i.exec(key)?.[0] ?? "";
  const [host = "", ...path] = key.slice(scheme.length).replace(/\/+$/, "").split("/");
  const registry = canonicalHost(host);
  // `docker login` once wrote URLs of the API, whose version is no part of a repository.
  const isVersion = path[0] === "v1" || path[0] === "v2";
  const hasVersion =
    isVersion && (scheme !== "" || (registry === "docker.io" && path.length === 1));
  return [registry, ...(hasVersion ? path.slice(1) : path)].join("/");
}

/** The scopes that cover a repository, the longest first, the registry's own last. */
export function scopesFor(registry: string, repository: string): string[] {
  const host = canonicalHost(registry);
  const components = repository === "" ? [] : repository.split("/");
  return [
    ...components.map((_, index) =>
      [host, ...components.slice(0, components.length - index)].join("/"),
    ),
    host,
  ];
}

/** What to ask a credential helper for, in order: Docker Hub has gone by two names. */
export function serversOf(scope: string): string[] {
  return scope === "docker.io" ? [hubServer, "docker.io"] : [scope];
}

function canonicalHost(host: string): string {
  const lower = host.toLowerCase();
  return hubNames.has(lower) ? "docker.io" : lower;
}
