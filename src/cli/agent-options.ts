import { logLevels } from "../telemetry/log-level.ts";
import type { Given, OptionSpec } from "./option.ts";
import { registryOptions } from "./registry-options.ts";

/** The options of `larder agent`. */
export const agentOptions = [
  {
    kind: "value",
    flag: "cache-path",
    placeholder: "dir",
    completion: "directory",
    default: "/var/lib/image-cache",
    about:
      "The default cache path: scanned whether a resource names it or not, and where the agent keeps what it has to know across a restart",
  },
  {
    kind: "value",
    flag: "kubeconfig",
    placeholder: "file",
    completion: "file",
    otherwise: "$KUBECONFIG, else the pod's service account, else ~/.kube/config",
    about: "How to reach the API server from outside a cluster",
  },
  {
    kind: "value",
    flag: "resync-period",
    placeholder: "duration",
    completion: "nothing",
    default: "1h",
    about:
      "How often to look at everything though nothing was heard of: what file-system events missed is repaired then; 0 turns it off",
  },
  {
    kind: "value",
    flag: "gc-delay",
    placeholder: "duration",
    completion: "nothing",
    default: "10m",
    about:
      "How long to keep a directory whose resource was seen to be deleted, or turned away from this node; 0 removes it at once",
  },
  {
    kind: "value",
    flag: "gc-delay-missing",
    placeholder: "duration",
    completion: "nothing",
    default: "24h",
    about:
      "How long to keep a directory whose resource is merely missing, as after a rebuild of the cluster",
  },
  {
    kind: "value",
    flag: "min-free",
    placeholder: "bytes|percent",
    completion: "nothing",
    default: "15%",
    about:
      "Space to leave free below a cache path; the kubelet starts to remove images when 15% are left",
  },
  {
    kind: "value",
    flag: "max-parallel-pulls",
    placeholder: "number",
    completion: "nothing",
    default: "2",
    about: "How many pulls run at a time; one that waits for its registry makes room for another",
  },
  {
    kind: "value",
    flag: "max-bandwidth",
    placeholder: "bytes",
    completion: "nothing",
    otherwise: "no limit",
    about: "Bytes a second that all pulls together may take in: 10M, 512Ki",
  },
  {
    kind: "value",
    flag: "pull-spread",
    placeholder: "duration",
    completion: "nothing",
    default: "0s",
    about:
      "Window over which the nodes' pulls of a new image are spread, each node at a time of its own; repairs do not wait",
  },
  {
    kind: "switch",
    flag: "follow-tags",
    about: "Ask the registry at each resync whether a tag has moved, and pull what it names then",
  },
  {
    kind: "value",
    flag: "health-addr",
    placeholder: "[host]:port",
    completion: "nothing",
    default: ":8081",
    about: "Where /healthz, /readyz and /metrics are served",
  },
  {
    kind: "value",
    flag: "log-level",
    placeholder: "level",
    completion: logLevels,
    default: "info",
    about: "How much to log",
  },
  ...registryOptions,
] as const satisfies readonly OptionSpec[];

export type AgentGiven = Given<typeof agentOptions>;
