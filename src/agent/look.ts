import type { Sentinel } from "../cache/sentinel.ts";
import type { Store } from "../cache/store.ts";
import { LarderError } from "../errors.ts";
import type { CacheSpec } from "./cache-spec.ts";

/** What a pass sees of one resource on the disk. */
export type Look =
  | { readonly kind: "complete"; readonly sentinel: Sentinel }
  | {
      /** `failed`: the cache path or the file system could not be asked. */
      readonly kind: "absent" | "incomplete" | "stale" | "foreign" | "failed";
      readonly why: string;
    };

/** Opens a cache path that may be used. Throws LarderError `cache-path` for one that may not. */
export type OpenStore = (cachePath: string) => Promise<Store>;

/** Never throws but for an abort: what fails is looked at again by the pull, which says why. */
export async function lookAt(
  cache: CacheSpec,
  open: OpenStore,
  signal: AbortSignal,
): Promise<Look> {
  try {
    const store = await open(cache.cachePath);
    const state = await store.state(cache.name, { source: cache.source }, signal);
    if (state.kind === "absent") return { kind: "absent", why: "nothing stands there" };
    if (state.kind === "foreign") return { kind: "foreign", why: `it is ${state.what}` };
    return state.kind === "complete"
      ? { kind: "complete", sentinel: state.sentinel }
      : { kind: state.kind, why: state.why };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof LarderError)) throw error;
    return { kind: "failed", why: error.message };
  }
}
