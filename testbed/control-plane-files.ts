import { generateKeyPairSync } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Certificates } from "./certificates.ts";

/** The names of what a control plane's programs read and write, all in one folder. */
export const files = {
  certificate: "serving.pem",
  key: "serving.key",
  ca: "ca.pem",
  tokens: "tokens.csv",
  accountKey: "service-account.key",
  accountPublicKey: "service-account.pub",
  auditPolicy: "audit-policy.json",
  auditLog: "audit.log",
  adminKubeconfig: "admin.kubeconfig",
  etcdData: "etcd",
  kubectlCache: "kubectl-cache",
} as const;

/** One entry a request, and one more where a watch begins. */
const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
};

/** Writes all that never changes while a control plane lives. */
export async function writeLastingFiles(dir: string, adminToken: string): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  await write(dir, files.accountKey, privateKey);
  await write(dir, files.accountPublicKey, publicKey);
  await write(dir, files.tokens, `${adminToken},admin,admin,"system:masters"\n`);
  await write(dir, files.auditPolicy, JSON.stringify(auditPolicy));
}

/** Writes what the API server reads again by itself when it changes. */
export async function writeCertificates(dir: string, certificates: Certificates): Promise<void> {
  await write(dir, files.ca, certificates.ca);
  await write(dir, files.key, certificates.key);
  await write(dir, files.certificate, certificates.certificate);
}

/** Removes what a cluster remembers; its programs must not run. */
export async function removeState(dir: string): Promise<void> {
  for (const name of [files.etcdData, files.kubectlCache]) {
    await rm(join(dir, name), { recursive: true, force: true });
  }
}

async function write(dir: string, name: string, content: string): Promise<void> {
  await writeFile(join(dir, name), content, { mode: 0o600 });
}
