import { isSystemError } from "../errors.ts";
import { Failure } from "./failure.ts";
import { linkLocalCode } from "./link-local.ts";
import { shownUrl } from "./shown-url.ts";

/** What was tried when a connection failed. */
export interface Attempt {
  /** `the manifest of registry.example.com/app:1`. */
  readonly what: string;
  readonly url: URL;
  readonly proxy: URL | undefined;
}

interface Explanation {
  readonly why: string;
  readonly todo: string;
  readonly final?: true;
}

/** A failed connection in words that help: code `network`, and whether another try can help. */
export function networkError(error: Error, attempt: Attempt): Failure {
  const { why, todo, final } = explain(codeOf(error), error, attempt);
  return new Failure("network", {
    what: `cannot get ${attempt.what} from ${shownUrl(attempt.url)}`,
    why: attempt.proxy ? `${why} (through the proxy ${attempt.proxy.host})` : why,
    todo,
    cause: error,
    retryable: final !== true,
  });
}

/** A name with several addresses fails with one error for each; the first has the code. */
function codeOf(error: Error): string {
  if (isSystemError(error)) return error.code;
  if (error instanceof AggregateError) {
    return error.errors.find(isSystemError)?.code ?? "";
  }
  return "";
}

function explain(code: string, error: Error, { url, proxy }: Attempt): Explanation {
  const host = proxy?.hostname ?? url.hostname;
  const address = proxy?.host ?? url.host;
  if (certificateCodes.has(code) || code.startsWith("CERT_")) return certificate(code, error, url);
  if (code.startsWith("ERR_SSL_") || code === "EPROTO") return handshake(error, url);
  if (code.startsWith("HPE_")) {
    return {
      why: `what answers at ${url.host} does not speak HTTP as it should (${code})`,
      todo: "check the host and port of the registry, and what stands between",
      final: true,
    };
  }
  switch (code) {
    case "ENOTFOUND":
      return {
        why: `the name ${host} is not known to this machine's DNS`,
        todo: `check the spelling, and \`getent hosts ${host}\` on this machine`,
      };
    case "EAI_AGAIN":
      return {
        why: `this machine's DNS does not answer when asked for ${host}`,
        todo: "check /etc/resolv.conf and that its name servers are up",
      };
    case "ECONNREFUSED":
      return {
        why: `nothing listens on ${address} (connection refused)`,
        todo: "check that it is up, and that the port is the right one",
      };
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "EADDRNOTAVAIL":
      return {
        why: `this machine has no way to ${address} (${code})`,
        todo: "check its routes (`ip route`), and whether a proxy has to be set with HTTPS_PROXY",
      };
    case "ETIMEDOUT":
    case "ESTALLED":
      return {
        why: code === "ESTALLED" ? error.message : `${address} does not answer (timed out)`,
        todo: "check firewalls between this machine and it, and whether a proxy has to be set with HTTPS_PROXY",
      };
    case "ERR_PROXY_TUNNEL":
      return {
        why: `the proxy does not let it through: ${tunnelStatus(error)}`,
        todo: "check HTTPS_PROXY, its user and password, and whether NO_PROXY should name the host",
      };
    case linkLocalCode:
      return {
        why: `${url.hostname} stands for a link-local address, where no server may send Larder`,
        todo: "ask whoever runs the registry why it points there",
        final: true,
      };
    default:
      return {
        why: `the connection to ${address} broke (${code === "" ? error.message : code})`,
        todo: "check that it is up and what stands between, then run this again",
      };
  }
}

const certificateCodes = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "INVALID_CA",
  "INVALID_PURPOSE",
  "HOSTNAME_MISMATCH",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

function certificate(code: string, error: Error, url: URL): Explanation {
  const final = true;
  const because = `the certificate of ${url.host}`;
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    const state = code === "CERT_HAS_EXPIRED" ? "has expired" : "is not valid yet";
    return {
      why: `${because} ${state}, going by this machine's clock`,
      todo: "check the clock (`date`), or renew the certificate",
      final,
    };
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID" || code === "HOSTNAME_MISMATCH") {
    return {
      why: `${because} is for another name (${error.message})`,
      todo: "use the name that the certificate has, or give the registry one with this name",
      final,
    };
  }
  return {
    why: `${because} is not signed by an authority that this machine trusts (${code})`,
    todo: `give its authority's certificate with --registry-ca, or allow it unverified with --insecure-registry ${url.host}`,
    final,
  };
}

/** `http://` behind an https port is the usual reason; OpenSSL calls it a wrong version number. */
function handshake(error: Error, url: URL): Explanation {
  const { message } = error;
  if (isPlainAnswer(error)) {
    return {
      why: `${url.host} does not speak https`,
      todo: `if it is a registry without TLS, allow it with --insecure-registry ${url.host}`,
      final: true,
    };
  }
  const reason = /SSL routines:[^:]*:([^:\n]+)/.exec(message)?.[1] ?? message.split("\n", 1)[0];
  return {
    why: `no TLS connection to ${url.host} comes about (${reason ?? "no reason given"})`,
    todo: "check which TLS versions and client certificates the registry asks for",
    final: true,
  };
}

/** Whether something answered the TLS greeting in another language, most likely plain HTTP. */
export function isPlainAnswer(error: unknown): boolean {
  return (
    error instanceof Error && /wrong version number|packet length too long/i.test(error.message)
  );
}

function tunnelStatus(error: Error): string {
  return "statusCode" in error && typeof error.statusCode === "number"
    ? `it answered ${error.statusCode}`
    : "it gave no usable answer";
}
