import type { Credential } from "./credentials.ts";
import { Failure } from "./failure.ts";
import { member, parseObject, text } from "./json.ts";
import { isRedirect } from "./redirect.ts";
import { noCredentials, refusal, statusText } from "./refusal.ts";
import type { RefusalContext } from "./refusal.ts";
import { shownUrl } from "./shown-url.ts";
import { drain, readSmall } from "./small-body.ts";
import type { Request, Response, Send } from "./transport.ts";

/** What to ask a token server. */
export interface TokenQuestion {
  /** For messages: `registry.example.com/team/app`. */
  readonly repository: string;
  readonly realm: URL;
  readonly service: string | undefined;
  /** `repository:team/app:pull`, one or several. */
  readonly scopes: readonly string[];
  /** The realm's host is not the registry's own. */
  readonly untrusted: boolean;
}

export interface Token {
  readonly value: string;
  readonly lifetimeMs: number;
}

/** Seconds that a token is good for where the server does not say (distribution token spec). */
const defaultLifetime = 60;

/**
 * Gets a token: with a password by GET, with an identity token by an OAuth2 refresh, else anonymously.
 * A redirect is not followed, since what it leads to was never vouched for.
 * @param send a transport that follows nothing
 * @throws Failure `auth` when the server refuses or answers nonsense; `network`
 */
export async function fetchToken(
  question: TokenQuestion,
  credential: Credential | undefined,
  send: Send,
  context: RefusalContext,
  signal: AbortSignal,
): Promise<Token> {
  const request = requestFor(question, credential, context, signal);
  const response = await send(request);
  if (isRedirect(response)) {
    await drain(response);
    const to = URL.parse(response.headers.location ?? "", response.url.href);
    throw useless(
      request,
      `it redirects${to ? ` to ${shownUrl(to)}` : ""}, which Larder does not follow`,
    );
  }
  if (response.status !== 200) throw await refused(request, response, credential, context);
  const bound = { bytes: context.limits.tokenBytes, milliseconds: context.limits.smallBodyMs };
  const bytes = await readSmall(response, bound, request.what);
  if (bytes === undefined) throw useless(request, `its answer is longer than ${bound.bytes} bytes`);
  const token = parseToken(bytes);
  if (token === undefined) throw useless(request, "its answer holds no token");
  context.secrets.add(token.value);
  return token;
}

function requestFor(
  question: TokenQuestion,
  credential: Credential | undefined,
  { secrets }: RefusalContext,
  signal: AbortSignal,
): Request {
  const { realm, untrusted, repository, service, scopes } = question;
  const base = { what: `the token for ${repository}`, signal, untrusted };
  if (credential?.kind === "identity-token") {
    const form = new URLSearchParams({
      grant_type: "refresh_token",
      refresh_token: credential.token,
      client_id: "larder",
      scope: scopes.join(" "),
    });
    if (service !== undefined) form.set("service", service);
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    return { ...base, method: "POST", url: realm, headers, body: form.toString() };
  }
  const url = new URL(realm);
  if (service !== undefined) url.searchParams.set("service", service);
  for (const scope of scopes) url.searchParams.append("scope", scope);
  if (credential?.kind !== "basic") return { ...base, method: "GET", url, headers: {} };
  const Authorization = basicHeader(credential.username, credential.password);
  secrets.add(Authorization.slice("Basic ".length));
  return { ...base, method: "GET", url, headers: { Authorization } };
}

/** RFC 7617, in UTF-8. */
export function basicHeader(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

/** @returns undefined where there is no token, or one that cannot go into a header */
function parseToken(bytes: Buffer): Token | undefined {
  const answer = parseObject(bytes);
  if (answer === undefined) return undefined;
  const value = text(answer, "token") ?? text(answer, "access_token");
  if (value === undefined || !/^[\x21-\x7e]+$/.test(value)) return undefined;
  const said = member(answer, "expires_in");
  const seconds = typeof said === "number" && said > 0 ? said : defaultLifetime;
  return { value, lifetimeMs: seconds * 1000 };
}

async function refused(
  request: Request,
  response: Response,
  credential: Credential | undefined,
  context: RefusalContext,
): Promise<Failure> {
  const failure = await refusal(request, response, context);
  if (failure.retryable) return failure;
  const { what } = failure.parts;
  return new Failure("auth", {
    what,
    why: `the token server at ${shownUrl(response.url)} answered ${statusText(response.status)}`,
    todo:
      credential === undefined
        ? noCredentials
        : "check the credentials for it: wrong, expired, or not allowed to pull from this repository",
    cause: failure,
  });
}

function useless(request: Request, why: string): Failure {
  return new Failure("auth", {
    what: `cannot get ${request.what} from ${shownUrl(request.url)}`,
    why,
    todo: "check that the registry's realm is a token server, and that nothing in between answers for it",
  });
}
