import { writeFile } from "node:fs/promises";

export interface KubeconfigContent {
  /** `https://127.0.0.1:23456`. */
  readonly server: string;
  /** PEM of the authority. */
  readonly ca: string;
  readonly token: string;
  readonly namespace?: string;
}

/** Writes a kubeconfig for one user of one cluster; JSON, which is YAML. */
export async function writeKubeconfig(path: string, content: KubeconfigContent): Promise<void> {
  const { server, ca, token, namespace = "default" } = content;
  const data = Buffer.from(ca).toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "testbed", cluster: { server, "certificate-authority-data": data } }],
    users: [{ name: "testbed", user: { token } }],
    contexts: [{ name: "testbed", context: { cluster: "testbed", user: "testbed", namespace } }],
    "current-context": "testbed",
  };
  await writeFile(path, JSON.stringify(config, undefined, 2), { mode: 0o600 });
}
