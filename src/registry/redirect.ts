import { Failure } from "./failure.ts";
import { isLinkLocal } from "./link-local.ts";
import { shownUrl } from "./shown-url.ts";
import { drain } from "./small-body.ts";
import type { Request, Response, Send } from "./transport.ts";

export interface RedirectOptions {
  /** Redirects in a row. */
  readonly limit: number;
  readonly insecure: (url: URL) => boolean;
}

const redirects = new Set([301, 302, 303, 307, 308]);

export function isRedirect(response: Response): boolean {
  return redirects.has(response.status);
}

/**
 * Follows the redirects of GET requests. Credentials go to the origin that they are for alone, and no
 * server can send Larder from https to http, to a link-local address, or away from HTTP.
 * @throws Failure `registry` for a redirect that is not followed
 */
export function redirecting(send: Send, options: RedirectOptions): Send {
  return async (request) => {
    let next = request;
    let crossed = false;
    for (let hops = 0; ; hops++) {
      const response = await send(next);
      if (!isRedirect(response) || request.method === "POST") return { ...response, crossed };
      await drain(response);
      if (hops >= options.limit) throw tooMany(next, response, options.limit);
      const target = targetOf(next, response, options.insecure);
      crossed ||= target.origin !== response.url.origin;
      next = follow(next, target, request.url);
      if (crossed) next = withoutAuthorization(next);
    }
  };
}

function follow(request: Request, url: URL, first: URL): Request {
  return { ...request, url, untrusted: url.hostname !== first.hostname };
}

function withoutAuthorization(request: Request): Request {
  const { Authorization: _, ...headers } = request.headers;
  return { ...request, headers };
}

/** Where a redirect leads, if Larder goes there. */
function targetOf(
  request: Request,
  { headers, url }: Response,
  insecure: (url: URL) => boolean,
): URL {
  const { location } = headers;
  const target = location === undefined ? null : URL.parse(location, url.href);
  if (target === null) throw refuse(request, url, "redirects to nowhere that is a URL");
  target.username = "";
  target.password = "";
  target.hash = "";
  const shown = shownUrl(target);
  if (target.protocol !== "https:" && target.protocol !== "http:") {
    throw refuse(
      request,
      url,
      `redirects to a ${target.protocol} address, which Larder does not follow`,
    );
  }
  if (target.hostname !== request.url.hostname && isLinkLocal(target.hostname)) {
    throw refuse(request, url, `redirects to the link-local address ${shown}`);
  }
  const downgrade = url.protocol === "https:" && target.protocol === "http:";
  if (downgrade && !insecure(url) && !insecure(target)) {
    throw refuse(
      request,
      url,
      `redirects from https to plain http at ${shown}`,
      `have the registry redirect to https, or allow it with --insecure-registry ${target.host}`,
    );
  }
  return target;
}

function refuse(request: Request, from: URL, why: string, todo = askOperator): Failure {
  const what = `cannot get ${request.what}`;
  return new Failure("registry", { what, why: `${shownUrl(from)} ${why}`, todo });
}

function tooMany(request: Request, { url }: Response, limit: number): Failure {
  return refuse(request, url, `is the end of more than ${limit} redirects in a row`);
}

const askOperator = "ask whoever runs the registry to mend where it stores its blobs";
