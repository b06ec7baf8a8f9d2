/**
 * A URL as messages may show it: the query of a redirect is a password for the blob behind it, so it
 * is left out, and so are user names, passwords and fragments.
 */
export function shownUrl(url: URL): string {
  const query = url.search === "" ? "" : "?...";
  return `${url.protocol}//${url.host}${url.pathname}${query}`;
}
