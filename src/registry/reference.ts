import { LarderError } from "../errors.ts";
import { isDigest, type Digest } from "./digest.ts";
import {
  canonicalRegistry,
  digestProblem,
  looksLikeRegistry,
  repositoryProblem,
  tagProblem,
  type Problem,
} from "./reference-grammar.ts";

/** What a source names at a registry. At least one of `tag` and `digest` is there. */
export interface Reference {
  /** `host`, `host:port` or `[IPv6]:port`, in its one spelling: lower case, Docker Hub as `docker.io`. */
  readonly registry: string;
  /** The path below the registry, `library/` included. */
  readonly repository: string;
  /** With a digest beside it: for people to read only. */
  readonly tag?: string;
  /** Decides what is fetched where it is there. */
  readonly digest?: Digest;
}

const longest = 512;

/**
 * Parses an image reference by the distribution grammar and fills in its defaults: `docker.io`,
 * `library/`, `latest`.
 *
 * @throws LarderError `reference`, naming the part that is wrong
 */
export function parseReference(text: string): Reference {
  const whole = wholeProblem(text);
  if (whole !== undefined) throw refuse(text, whole);

  const at = text.indexOf("@");
  const digest = at < 0 ? undefined : text.slice(at + 1);
  if (digest !== undefined && !isDigest(digest)) throw refuse(text, digestProblem(digest));

  const { name, tag } = splitTag(at < 0 ? text : text.slice(0, at));
  const { registry, repository } = splitName(name);
  const host = canonicalRegistry(registry);
  if (typeof host !== "string") throw refuse(text, host);

  const path = expandRepository(host, repository);
  const problem = repositoryProblem(path) ?? (tag === undefined ? undefined : tagProblem(tag));
  if (problem !== undefined) throw refuse(text, problem);
  return { registry: host, repository: path, ...versionOf(tag, digest) };
}

/** `registry/repository[:tag][@digest]`, complete: `parseReference` gives the same reference back. */
export function formatReference(reference: Reference): string {
  const tag = reference.tag === undefined ? "" : `:${reference.tag}`;
  const digest = reference.digest === undefined ? "" : `@${reference.digest}`;
  return `${referenceName(reference)}${tag}${digest}`;
}

/** `registry/repository`, without tag and digest. */
export function referenceName(reference: Reference): string {
  return `${reference.registry}/${reference.repository}`;
}

/**
 * One string for all spellings of one source, for comparing. A tag beside a digest changes nothing
 * about what is fetched, so it is left out.
 *
 * @throws LarderError `reference`
 */
export function normalise(text: string): string {
  const reference = parseReference(text);
  const name = referenceName(reference);
  return reference.digest === undefined
    ? `${name}:${reference.tag}`
    : `${name}@${reference.digest}`;
}

/** The repository as Docker Hub knows it: `ubuntu` is `library/ubuntu` there, and nowhere else. */
export function expandRepository(registry: string, repository: string): string {
  const short = registry === "docker.io" && repository !== "" && !repository.includes("/");
  return short ? `library/${repository}` : repository;
}

/** A colon before the last slash belongs to the registry's port, one behind it to the tag. */
function splitTag(text: string): { name: string; tag: string | undefined } {
  const colon = text.indexOf(":", text.lastIndexOf("/") + 1);
  if (colon < 0) return { name: text, tag: undefined };
  return { name: text.slice(0, colon), tag: text.slice(colon + 1) };
}

function splitName(name: string): { registry: string; repository: string } {
  const slash = name.indexOf("/");
  const first = name.slice(0, Math.max(slash, 0));
  if (!looksLikeRegistry(first)) return { registry: "docker.io", repository: name };
  return { registry: first, repository: name.slice(slash + 1) };
}

function versionOf(tag: string | undefined, digest: Digest | undefined) {
  if (digest === undefined) return { tag: tag ?? "latest" };
  return tag === undefined ? { digest } : { tag, digest };
}

/** What can be seen before the text is taken apart, and would be confusing to hear of a part. */
function wholeProblem(text: string): Problem | undefined {
  if (text === "") return { why: "it is empty", todo: "write registry/repository:tag" };
  if (text.length > longest) {
    return {
      why: `it has ${text.length} characters and the limit is ${longest}`,
      todo: "use a shorter reference",
    };
  }
  if (holdsPassword(text)) {
    return {
      why: "it has a slash after its @, as a URL with a user name does",
      todo: "give credentials with --registry-config, and write registry/repository@digest here",
    };
  }
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//.exec(text)?.[0];
  if (scheme !== undefined) {
    return { why: `it starts with ${scheme}`, todo: `write it without ${scheme}` };
  }
  if (/\s/.test(text)) return { why: "it has white space in it", todo: "remove the white space" };
  if (text.startsWith("[") && !text.includes("/")) {
    return { why: "it has a registry and no repository", todo: "write registry/repository:tag" };
  }
  if (/^[0-9a-f]{64}$/.test(text)) {
    return {
      why: "it is the ID of an image, which no registry knows",
      todo: "write registry/repository@sha256:<digest>",
    };
  }
  return undefined;
}

/** A digest has no slash, so what stands before this `@` was meant for a URL: it may be a password. */
function holdsPassword(text: string): boolean {
  const at = text.lastIndexOf("@");
  return at >= 0 && text.includes("/", at);
}

function refuse(text: string, problem: Problem): LarderError {
  const safe = holdsPassword(text) ? `***${text.slice(text.lastIndexOf("@"))}` : text;
  const shown = safe.length > longest ? `${safe.slice(0, 64)}...` : safe;
  return new LarderError("reference", {
    what: `${JSON.stringify(shown)} is not an image reference`,
    ...problem,
  });
}
