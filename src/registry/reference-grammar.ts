/**
 * The grammar of the distribution project's `reference` package, piece by piece. Each function says
 * what is wrong in words, so that an error can name the part that has to change.
 *
 *     name       = registry "/" repository
 *     registry   = (domain | IPv4 | "[" IPv6 "]") [":" port]
 *     domain     = label ("." label)*         label = letters, digits, inner hyphens
 *     repository = component ("/" component)*
 *     component  = alphanumeric (separator alphanumeric)*
 *     separator  = "." | "_" | "__" | "-"+
 *     tag        = word (word | "." | "-"){0,127}
 */
import { isIPv6 } from "node:net";

/** Why a part is refused, and what to write instead. */
export interface Problem {
  readonly why: string;
  readonly todo: string;
}

/** The longest repository, in characters, that distribution accepts. */
const longestRepository = 255;
const longestTag = 128;
const longestHost = 253;

const label = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/;
const component = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
const tagCharacters = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;

/** Whether the first component of a name is a registry and not the start of a repository. */
export function looksLikeRegistry(first: string): boolean {
  return first.includes(".") || first.includes(":") || first === "localhost";
}

/**
 * The one spelling of a registry: lower case, IPv6 shortened, `index.docker.io` as `docker.io`;
 * or what is wrong with it.
 */
export function canonicalRegistry(text: string): string | Problem {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/s.exec(text);
  if (bracketed !== null) return ipv6Registry(text, bracketed[1] ?? "", bracketed[2]);
  const colon = text.indexOf(":");
  if (colon !== text.lastIndexOf(":")) {
    return registryProblem(text, "has more than one colon", "write an IPv6 address as [::1]:5000");
  }
  const host = (colon < 0 ? text : text.slice(0, colon)).toLowerCase();
  const port = colon < 0 ? "" : canonicalPort(text.slice(colon + 1));
  if (port === undefined) return portProblem(text);
  if (host.length > longestHost || !host.split(".").every((part) => label.test(part))) {
    return registryProblem(
      text,
      "is not a host name",
      "write it as host or host:port; a host has letters, digits, dots and inner hyphens",
    );
  }
  // A URL takes a host that ends in a number for an IPv4 address: it reads `1.2.3` and `0177.0.0.1`
  // as ones that nobody meant, and refuses `1.2.3.256` and `reg.0`.
  if (URL.parse(`https://${host}/`)?.hostname !== host) {
    return registryProblem(
      text,
      "is neither a host name nor a whole IPv4 address",
      "write all four numbers of an address, 0 to 255 without leading zeros; a name does not end in a number",
    );
  }
  return `${host === "index.docker.io" ? "docker.io" : host}${port}`;
}

function ipv6Registry(text: string, address: string, portText?: string): string | Problem {
  const url = isIPv6(address) ? URL.parse(`https://[${address}]/`) : null;
  if (url === null) {
    return registryProblem(
      text,
      "has no IPv6 address in its brackets",
      "write it as [2001:db8::1] or [2001:db8::1]:5000, without a zone",
    );
  }
  const port = portText === undefined ? "" : canonicalPort(portText);
  return port === undefined ? portProblem(text) : `${url.hostname}${port}`;
}

/** `:5000`, or undefined when it is no port. */
function canonicalPort(text: string): string | undefined {
  if (!/^[0-9]{1,9}$/.test(text)) return undefined;
  const port = Number(text);
  return port >= 1 && port <= 65_535 ? `:${port}` : undefined;
}

function portProblem(text: string): Problem {
  return registryProblem(text, "has no valid port after its colon", "write a port of 1 to 65535");
}

function registryProblem(text: string, why: string, todo: string): Problem {
  return { why: `its registry ${JSON.stringify(text)} ${why}`, todo };
}

/** What is wrong with the path of a repository, if anything. */
export function repositoryProblem(repository: string): Problem | undefined {
  if (repository.length > longestRepository) {
    return {
      why: `its repository has ${repository.length} characters and the limit is ${longestRepository}`,
      todo: "use a shorter repository name",
    };
  }
  for (const part of repository.split("/")) {
    const problem = componentProblem(part);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function componentProblem(part: string): Problem | undefined {
  if (component.test(part)) return undefined;
  if (part === "") {
    return {
      why: "its repository has an empty component",
      todo: "write registry/repository without slashes at the end or side by side",
    };
  }
  const why = `its repository component ${JSON.stringify(part)}`;
  const lower = part.toLowerCase();
  if (component.test(lower)) {
    return { why: `${why} has upper-case letters`, todo: `write ${JSON.stringify(lower)}` };
  }
  return {
    why: `${why} is malformed`,
    todo: "use lower-case letters and digits, with single dots, one or two underscores or hyphens only between them",
  };
}

/** What is wrong with a tag, if anything. */
export function tagProblem(tag: string): Problem | undefined {
  if (tag === "")
    return { why: "its tag is empty", todo: "write a tag after the colon, or drop it" };
  if (tag.length > longestTag) {
    return {
      why: `its tag has ${tag.length} characters and the limit is ${longestTag}`,
      todo: "use a shorter tag",
    };
  }
  if (tagCharacters.test(tag)) return undefined;
  return {
    why: `its tag ${JSON.stringify(tag)} is malformed`,
    todo: "use letters, digits, underscores, dots and hyphens, and start with none of the last two",
  };
}

/** What is wrong with the text of a digest that `isDigest` refused. */
export function digestProblem(digest: string): Problem {
  const [algorithm = "", hex = ""] = digest.split(":", 2);
  const length = { sha256: 64, sha512: 128 }[algorithm];
  const why = `its digest ${JSON.stringify(digest)}`;
  if (length === undefined) {
    return {
      why: `${why} has no algorithm that can be checked`,
      todo: "write sha256: and 64 hex digits, or sha512: and 128",
    };
  }
  const fault = hex.length === length ? "is not lower-case hex" : `has ${hex.length} characters`;
  return {
    why: `${why} ${fault}`,
    todo: `write ${algorithm}: and ${length} lower-case hex digits`,
  };
}
