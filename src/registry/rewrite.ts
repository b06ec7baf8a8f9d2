import { LarderError } from "../errors.ts";
import {
  canonicalRegistry,
  looksLikeRegistry,
  repositoryProblem,
  type Problem,
} from "./reference-grammar.ts";
import { expandRepository, formatReference, type Reference } from "./reference.ts";

/** A place that references start with: a registry, or a registry and the first components of a path. */
export interface Prefix {
  readonly registry: string;
  /** Empty for a whole registry. */
  readonly path: string;
}

/** One `--registry-rewrite`: references below `from` are fetched from the same place below `to`. */
export interface Rewrite {
  readonly from: Prefix;
  readonly to: Prefix;
}

/**
 * Parses `from=to`, each `registry` or `registry/path`. A `from` on Docker Hub is matched against
 * the full name: `docker.io/library/ubuntu`, since `docker.io/ubuntu` is the prefix of `ubuntu/nginx`.
 *
 * @throws LarderError `usage`
 */
export function parseRewrite(text: string): Rewrite {
  const [from, to, ...more] = text.split("=");
  if (from === undefined || to === undefined || more.length > 0) {
    throw refuse(text, { why: "it is not of the form from=to", todo: "write it with one =" });
  }
  return { from: parsePrefix(text, from), to: parsePrefix(text, to) };
}

/**
 * Parses all of a command line's rewrites; the same one twice is one.
 *
 * @throws LarderError `usage`, also when two send one prefix to two places
 */
export function parseRewrites(texts: readonly string[]): Rewrite[] {
  const byFrom = new Map<string, Rewrite>();
  for (const text of texts) {
    const rewrite = parseRewrite(text);
    const from = formatPrefix(rewrite.from);
    const other = byFrom.get(from);
    if (other !== undefined && formatPrefix(other.to) !== formatPrefix(rewrite.to)) {
      throw refuse(text, {
        why: `another one sends ${from} to ${formatPrefix(other.to)}`,
        todo: "keep one of the two",
      });
    }
    byFrom.set(from, rewrite);
  }
  return [...byFrom.values()];
}

/**
 * Where to fetch a reference from: the longest matching `from` is applied, once. Only whole path
 * components match. Of two equal ones the first applies.
 *
 * @throws LarderError `usage` when nothing that a registry could know is left of it
 */
export function rewriteReference(rewrites: readonly Rewrite[], reference: Reference): Reference {
  const rewrite = rewrites
    .filter(({ from }) => isBelow(from, reference))
    .reduce<Rewrite | undefined>(
      (best, next) =>
        best === undefined || next.from.path.length > best.from.path.length ? next : best,
      undefined,
    );
  if (rewrite === undefined) return reference;

  const { from, to } = rewrite;
  const rest =
    from.path === "" ? reference.repository : reference.repository.slice(from.path.length + 1);
  const path = [to.path, rest].filter((part) => part !== "").join("/");
  const repository = expandRepository(to.registry, path);
  const problem = path === "" ? nothingLeft : repositoryProblem(repository);
  if (problem !== undefined) {
    throw new LarderError("usage", {
      what: `--registry-rewrite ${formatPrefix(from)}=${formatPrefix(to)} does not fit ${formatReference(reference)}`,
      ...problem,
    });
  }
  return { ...reference, registry: to.registry, repository };
}

const nothingLeft: Problem = {
  why: "it leaves no repository to ask for",
  todo: "name a repository after the registry on the right of the =",
};

function isBelow(from: Prefix, reference: Reference): boolean {
  if (from.registry !== reference.registry) return false;
  return from.path === "" || `${reference.repository}/`.startsWith(`${from.path}/`);
}

function parsePrefix(whole: string, text: string): Prefix {
  const trimmed = text.endsWith("/") ? text.slice(0, -1) : text;
  const slash = trimmed.indexOf("/");
  const first = slash < 0 ? trimmed : trimmed.slice(0, slash);
  if (!looksLikeRegistry(first)) {
    throw refuse(whole, {
      why: `${JSON.stringify(text)} does not start with a registry`,
      todo: "write registry or registry/path, where a registry has a dot or a port or is localhost",
    });
  }
  const registry = canonicalRegistry(first);
  if (typeof registry !== "string") throw refuse(whole, registry);
  const path = slash < 0 ? "" : trimmed.slice(slash + 1);
  const problem = slash < 0 ? undefined : repositoryProblem(path);
  if (problem !== undefined) throw refuse(whole, problem);
  return { registry, path };
}

function formatPrefix(prefix: Prefix): string {
  return prefix.path === "" ? prefix.registry : `${prefix.registry}/${prefix.path}`;
}

function refuse(text: string, problem: Problem): LarderError {
  return new LarderError("usage", {
    what: `--registry-rewrite ${JSON.stringify(text)} cannot be used`,
    ...problem,
  });
}
