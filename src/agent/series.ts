import { errorCodes } from "../errors.ts";
import type { Metrics } from "../telemetry/metrics.ts";

export const fileWatchStates = ["open", "absent", "failed"] as const;

/**
 * Of the watch of one directory. `absent`: the directory is not there; `failed`: it is, and cannot be
 * watched.
 */
export type FileWatchState = (typeof fileWatchStates)[number];

export type AgentSeries = ReturnType<typeof agentSeries>;

/** Every metric of the agent; docs/metrics.md says what to make of each, and a test keeps it in step. */
export function agentSeries(metrics: Metrics) {
  return {
    build: metrics.gauge({
      name: "larder_build_info",
      help: "Always 1; which Larder runs on which node and runtime",
      labels: { version: "any", node: "any", runtime: "any" },
    }),
    ...cacheSeries(metrics),
    ...pullSeries(metrics),
    ...passSeries(metrics),
    ...watchSeries(metrics),
  };
}

function cacheSeries(metrics: Metrics) {
  return {
    state: metrics.gauge({
      name: "larder_image_cache_state",
      help: "Each ImageCache that this node shall have, 1 for the state that it is in",
      labels: { name: "any", state: ["synced", "pending"] },
    }),
    orphans: metrics.gauge({
      name: "larder_orphans",
      help: "Directories that no ImageCache claims and that wait to be collected",
      labels: { cause: ["deleted", "missing"] },
    }),
    collected: metrics.counter({
      name: "larder_directories_collected_total",
      help: "Directories that were removed since no ImageCache claims them",
    }),
    diskFree: metrics.gauge({
      name: "larder_disk_free_bytes",
      help: "Bytes that can still be written below a cache path",
      labels: { path: "any" },
    }),
    diskSize: metrics.gauge({
      name: "larder_disk_size_bytes",
      help: "Size of the file system below a cache path",
      labels: { path: "any" },
    }),
    diskReserve: metrics.gauge({
      name: "larder_disk_reserve_bytes",
      help: "Bytes that pulls leave free below a cache path",
      labels: { path: "any" },
    }),
  };
}

function pullSeries(metrics: Metrics) {
  return {
    pullsStarted: metrics.counter({
      name: "larder_pulls_started_total",
      help: "Pulls that were begun",
    }),
    pullsRunning: metrics.gauge({
      name: "larder_pulls_running",
      help: "Pulls that have not ended yet",
    }),
    pullsSucceeded: metrics.counter({
      name: "larder_pulls_succeeded_total",
      help: "Pulls that ended with a complete directory",
    }),
    pullsFailed: metrics.counter({
      name: "larder_pulls_failed_total",
      help: "Pulls that ended without one, by the code of the error",
      labels: { reason: errorCodes },
    }),
    pulledBytes: metrics.counter({
      name: "larder_pulled_bytes_total",
      help: "Bytes of layers that came in",
    }),
    pullSeconds: metrics.histogram({
      name: "larder_pull_duration_seconds",
      help: "How long pulls took, from the first request to the directory in its place",
      labels: { result: ["succeeded", "failed"] },
      buckets: [0.1, 0.5, 1, 5, 15, 30, 60, 300, 900, 3600],
    }),
  };
}

function passSeries(metrics: Metrics) {
  return {
    passes: metrics.counter({
      name: "larder_passes_total",
      help: "Passes over the whole node; one that failed did what it could",
      labels: { result: ["succeeded", "failed"] },
    }),
    passSeconds: metrics.histogram({
      name: "larder_pass_duration_seconds",
      help: "How long passes took, without the pulls that they began",
      buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    }),
    eventsDropped: metrics.counter({
      name: "larder_events_dropped_total",
      help: "Events for the cluster that were given up",
    }),
  };
}

function watchSeries(metrics: Metrics) {
  return {
    reachable: metrics.gauge({
      name: "larder_api_server_reachable",
      help: "Whether the last request to the API server was answered",
    }),
    lastContact: metrics.gauge({
      name: "larder_api_server_last_contact_timestamp_seconds",
      help: "When the API server answered last, in seconds since 1970; 0 for never",
    }),
    watchOpen: metrics.gauge({
      name: "larder_watch_open",
      help: "Whether changes of a kind come in from the API server as they happen",
      labels: { kind: ["ImageCache", "Node"] },
    }),
    fileWatches: metrics.gauge({
      name: "larder_file_watches",
      help: "Directories whose file-system events are wanted, by whether they come in",
      labels: { state: fileWatchStates },
    }),
  };
}
