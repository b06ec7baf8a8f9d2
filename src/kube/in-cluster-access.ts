import { isIPv6 } from "node:net";
import { join } from "node:path";

import { LarderError } from "../errors.ts";
import { ChangingFile, describeFileError } from "../registry/changing-file.ts";
import type { Access } from "./access.ts";
import { ApiError } from "./api-error.ts";

/** Where the kubelet puts the token and the CA of a pod's service account. */
const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * The access of a pod: its service account's token and the cluster's CA, each read again when the
 * kubelet replaces it.
 *
 * @param folder for tests
 * @throws LarderError `usage` where the environment names no API server
 */
export function inClusterAccess(
  environment: NodeJS.ProcessEnv,
  folder = serviceAccountFolder,
): Access {
  const token = new ChangingFile(join(folder, "token"), asToken);
  const ca = new ChangingFile(join(folder, "ca.crt"), asCa);
  return {
    server: serverOf(environment),
    tls: async () => ({ ca: await read(ca), caSource: ca.path }),
    authorization: async () => `Bearer ${await read(token)}`,
  };
}

function serverOf(environment: NodeJS.ProcessEnv): URL {
  const host = environment["KUBERNETES_SERVICE_HOST"] ?? "";
  const port = environment["KUBERNETES_SERVICE_PORT"] || "443";
  const text = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const url = host === "" ? null : URL.parse(text);
  if (url !== null && url.pathname === "/" && url.search === "" && url.username === "") return url;
  throw new LarderError("usage", {
    what: "cannot find the API server",
    why:
      host === ""
        ? "KUBERNETES_SERVICE_HOST is not set, so this is no pod"
        : `KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are no host and port ("${host}", "${port}")`,
    todo: "run it in a pod whose service account's token is mounted, or name a kubeconfig file",
  });
}

/** A file that is being replaced may be missing for a moment: another try can help. */
async function read<T>(file: ChangingFile<T>): Promise<T> {
  try {
    return await file.read();
  } catch (error) {
    const why = error instanceof Unusable ? error.message : describeFileError(error);
    throw new ApiError({
      status: 0,
      what: `cannot use ${file.path}`,
      why,
      todo: "check that the pod has automountServiceAccountToken, and that its kubelet is well",
      cause: error,
      retryable: true,
    });
  }
}

/** Why the content of a file will not do; never quotes it. */
class Unusable extends Error {}

function asToken(bytes: Buffer): string {
  const token = bytes.toString("utf8").trim();
  if (token === "") throw new Unusable("it is empty");
  // What no header can carry would fail later, in an error that quotes it.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Unusable("it holds no token");
  return token;
}

function asCa(bytes: Buffer): string {
  const ca = bytes.toString("latin1");
  if (!ca.includes("-----BEGIN CERTIFICATE-----")) {
    throw new Unusable("it holds no PEM certificate");
  }
  return ca;
}
