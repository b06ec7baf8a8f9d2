import type { Challenge } from "./challenge.ts";
import { Failure } from "./failure.ts";
import { isLinkLocal } from "./link-local.ts";
import { shownUrl } from "./shown-url.ts";

/**
 * The URL of the token server that a Bearer challenge names, if credentials may go there: over https, or
 * to the very host that may do without, and never to a link-local address.
 * @param what what was asked for, for the error
 * @param from where the challenge came from
 * @throws Failure `auth`
 */
export function realmOf(
  challenge: Challenge,
  what: string,
  from: URL,
  insecure: (url: URL) => boolean,
): URL {
  const named = challenge.parameters.get("realm");
  const realm = named === undefined ? null : URL.parse(named);
  if (realm === null) throw refuse(what, from, "names no URL of a token server");
  realm.username = "";
  realm.password = "";
  realm.hash = "";
  if (realm.protocol !== "https:" && realm.protocol !== "http:") {
    throw refuse(what, from, `names a ${realm.protocol} address as its token server`);
  }
  if (realm.hostname !== from.hostname && isLinkLocal(realm.hostname)) {
    throw refuse(what, from, `names the link-local address ${shownUrl(realm)} as its token server`);
  }
  const sameInsecureHost = realm.host === from.host && insecure(from);
  if (realm.protocol === "http:" && !sameInsecureHost) {
    throw refuse(
      what,
      from,
      `names ${shownUrl(realm)} as its token server, and credentials do not go over plain http`,
    );
  }
  return realm;
}

function refuse(what: string, from: URL, why: string): Failure {
  return new Failure("auth", {
    what: `cannot sign in for ${what}`,
    why: `${from.host} ${why}`,
    todo: "ask whoever runs the registry to set an https realm in its token authentication",
  });
}
