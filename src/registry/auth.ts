import type { Access, Authority, Grant } from "./authority.ts";
import { drain } from "./small-body.ts";
import type { Request, Response, Send } from "./transport.ts";

/**
 * Sends what is known to be wanted, and answers a 401 of the registry itself, once a request. What
 * stands behind a redirect to another origin never gets to ask for credentials.
 */
export function authenticated(send: Send, authority: Authority, access: Access): Send {
  return async (request) => {
    const { signal, what } = request;
    const grant = await authority.current(access, signal);
    const response = await send(withGrant(request, grant));
    const challenges = response.headers["www-authenticate"];
    if (response.status !== 401 || response.crossed || challenges === undefined) {
      return described(response, grant);
    }
    await drain(response);
    const demand = { what, url: response.url, challenges };
    const fresh = await authority.answer(access, demand, grant, signal);
    return described(await send(withGrant(request, fresh)), fresh);
  };
}

function withGrant(request: Request, grant: Grant | undefined): Request {
  if (grant === undefined) return request;
  return { ...request, headers: { ...request.headers, Authorization: grant.header } };
}

function described(response: Response, grant: Grant | undefined): Response {
  return { ...response, signedIn: grant?.signedIn === true };
}
