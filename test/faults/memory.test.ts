/**
 * What an import takes of a node's memory, whatever the image. How much in all is for the benchmarks,
 * since the sources take more than the bundle that ships.
 */
import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { machinePlatform } from "../../src/registry/platform.ts";
import { buildImage, type BuiltImage } from "../../testbed/image-builder.ts";
import { startMisbehavingRegistry } from "../../testbed/misbehaving-registry.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { larder } from "../cli/larder-process.ts";

const mebibyte = 1024 * 1024;

/** Three layers, each of one file of this many bytes: as it is, gzip and zstd. */
function imageOf(bytes: number): BuiltImage {
  const content = Buffer.alloc(bytes, "what compresses well");
  const layers = (["none", "gzip", "zstd"] as const).map((compression) => ({
    entries: [{ path: `images/${compression}.tar`, content }],
    compression,
  }));
  return buildImage({ platform: machinePlatform(), layers });
}

// The last thing that the process does. Not its resource usage: that counts what the parent had
// in memory when it forked.
const reportPeak = `
  import { readFileSync } from "node:fs";
  process.on("exit", () => {
    const [, peak] = /VmHWM:\\s+(\\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"));
    process.stderr.write("peak " + peak + " KiB");
  });`;

/** Bytes that an import of the image has in memory at the most. */
async function peakOf(t: TestContext, bytes: number): Promise<number> {
  const cachePath = await tempDirectory(t);
  const at = await startMisbehavingRegistry();
  try {
    at.hold("team/boot", "1", imageOf(bytes));
    const access = ["--cache-path", cachePath, "--insecure-registry", at.host];
    const words = ["import", "--name", "boot", ...access, `${at.host}/team/boot:1`];
    // The flag is one that bin/larder always gives.
    const options = `--max-semi-space-size=2 --import data:text/javascript,${encodeURIComponent(reportPeak)}`;
    const { exitCode, stderr } = await larder(words, { env: { NODE_OPTIONS: options } });
    assert.equal(exitCode, 0, stderr);
    for (const file of ["none.tar", "gzip.tar", "zstd.tar"]) {
      assert.equal((await stat(join(cachePath, "boot", file))).size, bytes);
    }
    return Number(/peak (\d+) KiB$/.exec(stderr)?.[1]) * 1024;
  } finally {
    await at.stop();
  }
}

test("an import's memory does not grow with the size of its layers, however they are compressed", async (t) => {
  const small = await peakOf(t, 8 * mebibyte);
  const large = await peakOf(t, 160 * mebibyte);
  const told = `${Math.round(small / mebibyte)} MiB, and ${Math.round(large / mebibyte)} MiB`;
  assert.ok(large - small < 40 * mebibyte, told);
});
