import { randomBytes } from "node:crypto";

import type { ApiRequests } from "./api-requests.ts";

export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
  /**
   * Bind the token to a pod of this node, which is made for it: the token then says
   * `authentication.kubernetes.io/node-name`, as a kubelet's projected tokens do. The node should
   * exist: its uid is in the token too, and a controller manager removes the pods of absent nodes.
   */
  readonly podNode?: string;
  /** Default an hour; the API server takes no less than 600. */
  readonly seconds?: number;
}

/** A real token by TokenRequest. The service account has to exist; it is not made. */
export async function requestToken(api: ApiRequests, account: ServiceAccount): Promise<string> {
  const { namespace, name, podNode, seconds = 3600 } = account;
  const bound = podNode === undefined ? {} : { boundObjectRef: await makePod(api, account) };
  const answer = await api.ask(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, {
    method: "POST",
    body: {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: seconds, ...bound },
    },
  });
  return (answer as { status: { token: string } }).status.token;
}

/** A pod that is only a name: nothing runs it. */
async function makePod(api: ApiRequests, { namespace, name, podNode }: ServiceAccount) {
  const made = await api.ask(`/api/v1/namespaces/${namespace}/pods`, {
    method: "POST",
    body: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: `${name}-${randomBytes(4).toString("hex")}`, namespace },
      spec: {
        serviceAccountName: name,
        nodeName: podNode,
        containers: [{ name: "agent", image: "agent.invalid/agent" }],
      },
    },
  });
  const { metadata } = made as { metadata: { name: string; uid: string } };
  return { apiVersion: "v1", kind: "Pod", name: metadata.name, uid: metadata.uid };
}
