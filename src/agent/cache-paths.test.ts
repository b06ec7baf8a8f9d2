import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { tempDirectory } from "../../testbed/temp-directory.ts";
import { storeOpener } from "./cache-paths.ts";

test("outside a container every directory can be a cache path", async (t) => {
  const path = await tempDirectory(t);
  assert.equal((await storeOpener(false)(`${path}/`)).path, path);
  assert.equal((await storeOpener(false)("/dev/shm")).path, "/dev/shm");
});

test("in a container a path on its own root is refused, and the remedy names the volume", async () => {
  await assert.rejects(storeOpener(true)("/etc"), {
    code: "cache-path",
    retryable: true,
    message:
      "cannot use the cache path /etc: it is on the container's own root, not on the node's disk: add a hostPath volume for /etc to the agent's DaemonSet, mounted at the same path",
  });
});

test("in a container a path in memory is refused", async () => {
  await assert.rejects(storeOpener(true)("/dev/shm"), {
    code: "cache-path",
    message: /: it is on a tmpfs \(\/dev\/shm\), not on the node's disk: /,
  });
});

test("in a container a path that something is mounted on can be used", async () => {
  assert.equal((await storeOpener(true)("/proc")).path, "/proc");
});

test("a path that is not there, a file and a link are refused for that, mounted or not", async (t) => {
  const path = await tempDirectory(t);
  fs.writeFileSync(join(path, "file"), "");
  fs.symlinkSync(path, join(path, "link"));
  for (const entry of ["absent", "file", "link"]) {
    for (const inContainer of [true, false]) {
      await assert.rejects(storeOpener(inContainer)(join(path, entry)), (error: Error) => {
        assert.match(error.message, new RegExp(`${entry}: `));
        assert.doesNotMatch(error.message, /hostPath/);
        return "code" in error && error.code === "cache-path";
      });
    }
  }
});
