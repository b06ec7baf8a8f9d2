import { zstdDecompressSync } from "node:zlib";

import { LarderError } from "../errors.ts";

/** The runtime as far as it matters; the process's own unless a test says otherwise. */
export interface Runtime {
  /** As `process.versions.node`. */
  readonly node: string;
  readonly decompress: (bytes: Buffer) => Buffer;
}

const oldest = { major: 26, minor: 10 };

/** Two zstd frames, one behind the other: `one` and `two`, not compressed. */
const twoFrames = Buffer.from("28b52ffd20031900006f6e6528b52ffd200319000074776f", "hex");

const thisRuntime: Runtime = { node: process.versions.node, decompress: zstdDecompressSync };

/**
 * Refuses a runtime that would fill a cache wrongly: older releases of Node silently lose every
 * zstd frame after the first. Takes well under a millisecond.
 *
 * @throws LarderError `internal`
 */
export function checkRuntime(runtime: Runtime = thisRuntime): void {
  const [major = 0, minor = 0] = runtime.node.split(".").map(Number);
  if (major < oldest.major || (major === oldest.major && minor < oldest.minor)) {
    throw refusal(`it needs ${oldest.major}.${oldest.minor} or newer`, runtime);
  }
  if (readFrames(runtime) !== "onetwo") {
    throw refusal("its zstd loses every frame after the first", runtime);
  }
}

function readFrames(runtime: Runtime): string {
  try {
    return runtime.decompress(twoFrames).toString("latin1");
  } catch {
    return "";
  }
}

function refusal(why: string, runtime: Runtime): LarderError {
  return new LarderError("internal", {
    what: `cannot run on Node ${runtime.node}`,
    why,
    todo: "use the larder that brings its own Node, or set LARDER_NODE to a newer one",
  });
}
