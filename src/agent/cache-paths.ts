import { Store } from "../cache/store.ts";
import { LarderError } from "../errors.ts";
import type { OpenStore } from "./look.ts";
import { readCover, type Cover } from "./mounts.ts";

/**
 * Opens cache paths; in a container only those that something of the host is mounted on: what is
 * written elsewhere is gone with the container, and nothing on the host ever sees it.
 */
export function storeOpener(inContainer: boolean): OpenStore {
  return async (path) => {
    const store = await Store.open(path);
    const cover = inContainer ? readCover(path) : undefined;
    if (cover !== undefined && cover.kind !== "mounted") throw notMounted(path, cover);
    return store;
  };
}

function notMounted(path: string, { kind, mountPoint }: Cover): LarderError {
  const on = kind === "container root" ? "the container's own root" : `an ${kind} (${mountPoint})`;
  return new LarderError("cache-path", {
    what: `cannot use the cache path ${path}`,
    why: `it is on ${on.replace("an tmpfs", "a tmpfs")}, not on the node's disk`,
    todo: `add a hostPath volume for ${path} to the agent's DaemonSet, mounted at the same path`,
    retryable: true,
  });
}
