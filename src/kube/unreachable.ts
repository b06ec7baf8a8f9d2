import { isSystemError } from "../errors.ts";
import { isPlainAnswer } from "../registry/network-error.ts";
import { ApiError } from "./api-error.ts";
import { TooLarge } from "./whole-body.ts";

/** What was tried when no answer came, or not all of it. */
export interface Attempt {
  /** `get nodes/worker-1`. */
  readonly what: string;
  readonly server: URL;
  readonly proxy: URL | undefined;
  /** Where the CA is from. */
  readonly caSource: string | undefined;
}

interface Explanation {
  readonly why: string;
  readonly todo: string;
  readonly final?: true;
}

/** A request that got no whole answer, in words that help: status 0. */
export function unreachable(error: Error, attempt: Attempt): ApiError {
  const { why, todo, final } = explain(error, attempt);
  const through = attempt.proxy ? ` (through the proxy ${attempt.proxy.host})` : "";
  return new ApiError({
    status: 0,
    what: `cannot ${attempt.what}`,
    why: `${why}${through}`,
    todo,
    cause: error,
    retryable: final !== true,
  });
}

/** A name with several addresses fails with one error for each; the first has the code. */
function codeOf(error: Error): string {
  if (isSystemError(error)) return error.code;
  return error instanceof AggregateError ? (error.errors.find(isSystemError)?.code ?? "") : "";
}

function explain(error: Error, attempt: Attempt): Explanation {
  const { server, proxy } = attempt;
  const code = codeOf(error);
  const host = (proxy ?? server).hostname;
  const address = (proxy ?? server).host;
  if (error instanceof TooLarge) {
    return {
      why: `the API server's answer is ${error.message}`,
      todo: "check that what answers there is an API server, and which objects are that large",
    };
  }
  if (isCertificateCode(code)) return certificate(error, code, attempt);
  if (code === "EPROTO" || code.startsWith("ERR_SSL_")) return handshake(error, server);
  if (code.startsWith("HPE_")) {
    return {
      why: `what answers at ${server.host} does not speak HTTP as it should (${code})`,
      todo: "check the address of the API server, and what stands between",
    };
  }
  switch (code) {
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return {
        why: `the name ${host} cannot be looked up (${code})`,
        todo: `check the spelling, and \`getent hosts ${host}\` on this node`,
      };
    case "ECONNREFUSED":
      return {
        why: `nothing listens on ${address} (connection refused)`,
        todo: "check that the API server is up, and kube-proxy on this node if that is a service's address",
      };
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "EADDRNOTAVAIL":
      return {
        why: `this node has no way to ${address} (${code})`,
        todo: "check its routes (`ip route`) and network policies",
      };
    case "ESTALLED":
    case "ETIMEDOUT":
      return {
        why: `${address} does not answer (${code === "ESTALLED" ? error.message : "timed out"})`,
        todo: "check that the API server is up, and firewalls between this node and it",
      };
    default:
      return {
        why: `the connection to ${address} broke (${code === "" ? error.message : code})`,
        todo: "check that the API server is up and what stands between",
      };
  }
}

function isCertificateCode(code: string): boolean {
  return code.startsWith("CERT_") || certificateCodes.has(code);
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
  "CRL_HAS_EXPIRED",
]);

/** Never final: certificates and CA files rotate, each at its own moment. */
function certificate(error: Error, code: string, { server, caSource }: Attempt): Explanation {
  const because = `the certificate of ${server.host}`;
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    const state = code === "CERT_HAS_EXPIRED" ? "has expired" : "is not valid yet";
    return {
      why: `${because} ${state}, going by this node's clock`,
      todo: "check the clock (`date`), or renew the API server's certificate",
    };
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID" || code === "HOSTNAME_MISMATCH") {
    return {
      why: `${because} is for another name (${error.message})`,
      todo: "use a name that the certificate has, or give the API server one with this name",
    };
  }
  return {
    why: `${because} is not signed by an authority of ${caSource ?? "this runtime"} (${code})`,
    todo: `check that ${caSource ?? "the CA"} is the CA of this cluster, and that no proxy stands between`,
  };
}

/** `http://` behind an https port is the usual reason; OpenSSL calls it a wrong version number. */
function handshake(error: Error, server: URL): Explanation {
  if (isPlainAnswer(error)) {
    return {
      why: `${server.host} does not speak https`,
      todo: "check the address and port of the API server",
      final: true,
    };
  }
  const reason =
    /SSL routines:[^:]*:([^:\n]+)/.exec(error.message)?.[1] ?? error.message.split("\n", 1)[0];
  return {
    why: `no TLS connection to ${server.host} comes about (${reason ?? "no reason given"})`,
    todo: "check the client certificate, and which TLS versions the API server takes",
  };
}
