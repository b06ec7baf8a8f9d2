/**
 * Builds every program that the tests run against, so that a test run finds them: `make testbed`.
 */
import { cacheFolder } from "./cache-folder.ts";
import { crane } from "./crane.ts";
import { etcd, kubernetesPrograms } from "./kubernetes.ts";
import { kwok, kwokStages } from "./kwok.ts";
import { promtool } from "./promtool.ts";

const builds: Record<string, () => Promise<unknown>> = {
  crane,
  etcd,
  kwok,
  "kwok's stages": kwokStages,
  promtool,
  kubernetes: kubernetesPrograms,
};

// One after the other: the Go compiler keeps every core busy by itself.
for (const [name, build] of Object.entries(builds)) {
  const started = Date.now();
  await build();
  const seconds = Math.round((Date.now() - started) / 1000);
  process.stdout.write(`testbed: ${name} is there (${seconds} s)\n`);
}
process.stdout.write(`testbed: all in ${cacheFolder()}\n`);
