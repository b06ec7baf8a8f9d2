import { insecureHosts } from "../registry/insecure.ts";
import { parseRewrites, type Rewrite } from "../registry/rewrite.ts";
import type { Given } from "./option.ts";
import type { registryOptions } from "./registry-options.ts";

/** How registries are reached, in the Registry's words. */
export interface RegistryAccess {
  readonly configPath?: string;
  readonly caPath?: string;
  readonly insecure: readonly string[];
  readonly rewrites: readonly Rewrite[];
}

/** @throws LarderError `usage` */
export function parseAccess(given: Given<typeof registryOptions>): RegistryAccess {
  const { "registry-config": configPath, "registry-ca": caPath } = given;
  const insecure = given["insecure-registry"];
  // Checked here, too: a wrong one is wrong usage also where no registry comes to be asked.
  insecureHosts(insecure);
  return {
    ...(configPath === undefined ? {} : { configPath }),
    ...(caPath === undefined ? {} : { caPath }),
    insecure,
    rewrites: parseRewrites(given["registry-rewrite"]),
  };
}
