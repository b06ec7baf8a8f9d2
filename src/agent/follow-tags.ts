import type { Sentinel } from "../cache/sentinel.ts";
import { LarderError } from "../errors.ts";
import type { Digest } from "../registry/digest.ts";
import type { Platform } from "../registry/platform.ts";
import { parseReference } from "../registry/reference.ts";
import type { Registry } from "../registry/registry.ts";
import type { CacheSpec } from "./cache-spec.ts";

export interface FollowOptions {
  readonly registry: () => Promise<Registry>;
  readonly platform: Platform;
  /** Records what a reference named when a directory was filled, where its sentinel does not say. */
  readonly record: (
    cache: CacheSpec,
    digests: { digest: Digest; resolved: Digest },
  ) => Promise<void>;
  /** A question that found no answer: the next resync asks again. */
  readonly failed: (cache: CacheSpec, error: LarderError) => void;
}

/** A complete resource and what its sentinel says. */
export interface Followed {
  readonly cache: CacheSpec;
  readonly sentinel: Sentinel;
}

/**
 * Which of some complete resources have a tag that names another image by now. One HEAD each; one GET
 * where the sentinel, an older agent's, does not say what the tag named.
 */
export async function movedTags(
  followed: readonly Followed[],
  options: FollowOptions,
  signal: AbortSignal,
): Promise<readonly CacheSpec[]> {
  const moved: CacheSpec[] = [];
  for (const { cache, sentinel } of followed) {
    try {
      if (await hasMoved(cache, sentinel, options, signal)) moved.push(cache);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof LarderError)) throw error;
      options.failed(cache, error);
    }
  }
  return moved;
}

async function hasMoved(
  cache: CacheSpec,
  sentinel: Sentinel,
  { registry, platform, record }: FollowOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const reference = parseReference(cache.source);
  // A digest names one image for ever.
  if (reference.digest !== undefined) return false;
  const client = await registry();
  if (sentinel.resolved !== undefined) {
    return (await client.resolved(reference, signal)) !== sentinel.resolved;
  }
  const { digest, resolved } = await client.image(reference, platform, signal);
  if (digest !== sentinel.digest) return true;
  await record(cache, { digest, resolved });
  return false;
}
