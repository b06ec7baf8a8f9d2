import type { CacheSpec } from "../src/agent/cache-spec.ts";

/** An ImageCache as the agent reads it, for tests: `{ name: "a" }` and what else matters. */
export function cacheSpec(given: Partial<CacheSpec> & { readonly name: string }): CacheSpec {
  return {
    uid: `uid-of-${given.name}`,
    source: `registry.example.com/${given.name}:1`,
    cachePath: "/var/lib/image-cache",
    nodeSelector: {},
    ...given,
  };
}
