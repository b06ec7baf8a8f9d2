/** What the benchmark and its load processes say to each other. */

/** The User-Agent of those that are no real agents. */
export const simulatedAgent = "larder-agent/simulated";

/** One node that a load process speaks for. */
export interface NodeSeat {
  readonly name: string;
  /** Of the agent's service account, bound to this node. */
  readonly token: string;
  /** `https://127.0.0.1:23456`. */
  readonly server: string;
}

export type ToLoad =
  | {
      readonly kind: "begin";
      readonly ca: string;
      readonly seats: readonly NodeSeat[];
      /**
       * How many requests begin in a second. Each may take a TLS handshake, of which one machine makes
       * a few hundred a second: what waits for its turn here would run into its time limit there.
       */
      readonly requestsPerSecond: number;
      /** Milliseconds that a pull takes. */
      readonly pullMs: number;
    }
  /** Milliseconds of the window over which pulls are spread from now on. */
  | { readonly kind: "spread"; readonly ms: number };

/** Said every second. */
export interface LoadState {
  readonly kind: "state";
  /** Nodes whose two watches are open. */
  readonly live: number;
  /** Nodes that the cluster knows to have a cache, by the cache's name. */
  readonly synced: Readonly<Record<string, number>>;
  /** Watches that were lost or could not be opened, since the beginning. */
  readonly lost: number;
  /** Milliseconds by which this process is late at the worst, in the last second. */
  readonly lagMs: number;
}

/** Whether an IPC message is one. */
export function isLoadState(message: unknown): message is LoadState {
  return typeof message === "object" && message !== null && "kind" in message
    ? message.kind === "state"
    : false;
}
