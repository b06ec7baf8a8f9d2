import { BlockList, isIP } from "node:net";

import { LarderError } from "../errors.ts";
import { bypassesProxy } from "./no-proxy.ts";

/**
 * The proxy through which to ask for `url`, from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY in
 * upper or lower case (upper first, as Go does); user name and password stay in it, percent-encoded.
 *
 * `localhost` and loopback addresses never go through a proxy, whatever NO_PROXY says: that is what
 * Go does, and with it every other program that pulls images on the node. A proxy could not reach
 * this machine's loopback in any case.
 *
 * @throws LarderError `usage` when the variable that decides holds no usable proxy
 */
export function proxyFor(url: URL, environment: NodeJS.ProcessEnv): URL | undefined {
  const found =
    variable(environment, url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY") ??
    variable(environment, "ALL_PROXY");
  if (found === undefined || isLoopback(url.hostname)) return undefined;
  const exceptions = variable(environment, "NO_PROXY")?.value ?? "";
  return bypassesProxy(url, exceptions) ? undefined : parseProxy(found.name, found.value);
}

function variable(
  environment: NodeJS.ProcessEnv,
  upper: string,
): { name: string; value: string } | undefined {
  for (const name of [upper, upper.toLowerCase()]) {
    const value = environment[name]?.trim() ?? "";
    if (value !== "") return { name, value };
  }
  return undefined;
}

function parseProxy(name: string, value: string): URL {
  // `proxy.example.com:3128` would parse as a URL of the scheme `proxy.example.com`.
  const proxy = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
  if (proxy === null || proxy.hostname === "") {
    throw refuse(name, value, "it is not a URL");
  }
  if (proxy.protocol !== "http:" && proxy.protocol !== "https:") {
    throw refuse(name, value, `proxies of the kind ${proxy.protocol}// are not supported`);
  }
  return proxy;
}

/** The value is shown from its last `@` on only: what stands before may be a password. */
function refuse(name: string, value: string, why: string): LarderError {
  const at = value.lastIndexOf("@");
  const shown = at < 0 ? value : `***${value.slice(at)}`;
  return new LarderError("usage", {
    what: `the environment variable ${name} (${JSON.stringify(shown)}) names no usable proxy`,
    why,
    todo: "write http://host:port or https://host:port, with a user name and password percent-encoded, or unset it",
  });
}

function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (host === "localhost" || host === "localhost.") return true;
  const family = isIP(host);
  return family !== 0 && loopback.check(host, family === 6 ? "ipv6" : "ipv4");
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");
