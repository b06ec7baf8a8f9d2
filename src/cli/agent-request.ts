import { parseBandwidth } from "../agent/bandwidth.ts";
import { parseDuration } from "../agent/duration.ts";
import type { Delays } from "../agent/orphans.ts";
import { checkCachePath } from "../cache/names.ts";
import type { MinFree } from "../cache/space.ts";
import { LarderError } from "../errors.ts";
import { machinePlatform, parsePlatform, type Platform } from "../registry/platform.ts";
import { parseListenAddress, type ListenAddress } from "../telemetry/listen-address.ts";
import { logLevels, type LogLevel } from "../telemetry/log-level.ts";
import type { AgentGiven } from "./agent-options.ts";
import { parseMinFree } from "./min-free.ts";
import { parseAccess, type RegistryAccess } from "./registry-access.ts";

/** A command line of `larder agent` and its environment, checked once and for all. */
export interface AgentRequest {
  readonly nodeName: string;
  readonly cachePath: string;
  readonly kubeconfig: string | undefined;
  /** Milliseconds, as all times here. */
  readonly resyncMs: number;
  readonly delays: Delays;
  readonly minFree: MinFree;
  readonly atOnce: number;
  /** Bytes a second; undefined: no limit. */
  readonly bandwidth: number | undefined;
  readonly spreadMs: number;
  readonly followTags: boolean;
  readonly health: ListenAddress;
  readonly logLevel: LogLevel;
  readonly platform: Platform;
  readonly access: RegistryAccess;
}

const mostAtOnce = 64;

/** @throws LarderError `usage`, before anything is read or asked */
export function parseAgent(given: AgentGiven, environment: NodeJS.ProcessEnv): AgentRequest {
  const duration = (flag: "resync-period" | "gc-delay" | "gc-delay-missing" | "pull-spread") =>
    parseDuration(given[flag], `--${flag}`);
  const bandwidth = given["max-bandwidth"];
  return {
    nodeName: nodeNameIn(environment),
    cachePath: checkCachePath(given["cache-path"]),
    kubeconfig: given.kubeconfig,
    resyncMs: duration("resync-period"),
    delays: { seenMs: duration("gc-delay"), missingMs: duration("gc-delay-missing") },
    minFree: parseMinFree(given["min-free"]),
    atOnce: parseAtOnce(given["max-parallel-pulls"]),
    bandwidth: bandwidth === undefined ? undefined : parseBandwidth(bandwidth),
    spreadMs: duration("pull-spread"),
    followTags: given["follow-tags"],
    health: parseListenAddress(given["health-addr"]),
    logLevel: logLevels.find((level) => level === given["log-level"]) ?? "info",
    platform: given.platform === undefined ? machinePlatform() : parsePlatform(given.platform),
    access: parseAccess(given),
  };
}

/** Which node this is, only the cluster can say: a guess could label another one. */
function nodeNameIn(environment: NodeJS.ProcessEnv): string {
  const name = environment["NODE_NAME"] ?? "";
  if (/^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/.test(name)) return name;
  throw new LarderError("usage", {
    what: name === "" ? "NODE_NAME is missing" : `NODE_NAME is '${name}'`,
    why: "it must hold the name of the node that the agent runs on",
    todo: "set it from the field spec.nodeName of the pod (downward API), as deploy/agent does",
  });
}

function parseAtOnce(text: string): number {
  const number = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= mostAtOnce) return number;
  throw new LarderError("usage", {
    what: `'${text}' is no number for --max-parallel-pulls`,
    why: `it must be a whole number from 1 to ${mostAtOnce}`,
    todo: "leave it away for 2",
  });
}
