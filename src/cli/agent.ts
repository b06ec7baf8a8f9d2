import { agentOptions } from "./agent-options.ts";
import { verb } from "./verb.ts";

/** `larder agent`: keep a node's caches as the cluster declares them. */
export const agentVerb = verb({
  name: "agent",
  summary: "keep this node's caches whole, as ImageCache resources declare them",
  details: `Runs until it is told to stop, as one pod a node. It pulls what the ImageCache resources that select
this node name, repairs what is damaged, removes what nobody wants any more, and says so with the
node's labels. NODE_NAME must hold the node's name. It logs JSON lines on standard output.`,
  options: agentOptions,
  examples: [
    {
      about: "In a pod, with NODE_NAME from the downward API",
      line: "larder agent",
    },
    {
      about: "On a machine of the cluster, from a shell",
      line: "NODE_NAME=worker-1 larder agent --kubeconfig ~/.kube/config --health-addr 127.0.0.1:8081",
    },
  ],
  run: async (given, _operands, shell) => {
    const { runAgent } = await import("./agent-action.ts");
    return runAgent(given, shell);
  },
});
