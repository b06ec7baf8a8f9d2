import { LarderError } from "../errors.ts";
import { isPlainAnswer } from "./network-error.ts";
import type { Request, Response, Send } from "./transport.ts";

/** The test for hosts that need no valid certificate; entries are `host` or `host:port`, compared whole. */
export function insecureHosts(entries: readonly string[]): (url: URL) => boolean {
  const hosts = new Set<string>();
  for (const entry of entries) {
    const url = URL.parse(`https://${entry}`);
    if (url === null || url.host === "" || url.pathname !== "/" || url.username !== "") {
      throw new LarderError("usage", {
        what: `"${entry}" is not an insecure registry`,
        why: "it is not a host name or address with an optional port",
        todo: "write it as it stands in references, like registry.local:5000",
      });
    }
    hosts.add(url.host);
  }
  return (url) => hosts.has(url.host);
}

/**
 * Asks insecure hosts over https first, and over plain http where nothing speaks TLS there. What a
 * server named (a realm, a redirect) stays as it was named.
 */
export function insecureFallback(send: Send, insecure: (url: URL) => boolean): Send {
  /** Hosts that answered over plain http. */
  const plainHosts = new Set<string>();

  return async (request) => {
    const { url } = request;
    if (url.protocol !== "https:" || !insecure(url) || request.untrusted === true) {
      return send(request);
    }
    if (!plainHosts.has(url.host)) return firstContact(request);
    try {
      return await send(plainly(request));
    } catch (error) {
      plainHosts.delete(url.host);
      throw error;
    }
  };

  async function firstContact(request: Request): Promise<Response> {
    try {
      return await send(request);
    } catch (error) {
      if (!(error instanceof LarderError) || error.code !== "network") throw error;
      const response = await overPlainHttp(request, error);
      plainHosts.add(request.url.host);
      return response;
    }
  }

  async function overPlainHttp(request: Request, overTls: LarderError): Promise<Response> {
    const certain = isPlainAnswer(overTls.cause);
    let response: Response;
    try {
      response = await send(plainly(request));
    } catch (error) {
      if (certain || request.signal.aborted) throw error;
      throw overTls;
    }
    // So answer servers that do speak TLS: what failed before was a passing trouble.
    if (response.status === 400 && !certain) {
      response.discard();
      throw overTls;
    }
    return response;
  }
}

function plainly(request: Request): Request {
  const url = new URL(request.url);
  url.protocol = "http:";
  return { ...request, url };
}
