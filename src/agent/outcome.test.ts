import assert from "node:assert/strict";
import { test } from "node:test";

import { cacheSpec } from "../../testbed/cache-spec.ts";
import { InsufficientDiskError, LarderError } from "../errors.ts";
import { digestOf } from "../registry/digest.ts";
import { failedEvent, reasonOf, syncedEvent } from "./outcome.ts";

const parts = { what: "cannot fill /c/a", why: "it is full", todo: "free 2 GiB" };
const cache = cacheSpec({ name: "a", uid: "u-1" });
const digest = digestOf(Buffer.from("manifest"));
const regarding = {
  apiVersion: "image-cache.scality.com/v1alpha1",
  kind: "ImageCache",
  name: "a",
  uid: "u-1",
};

test("too little space, a cache path that cannot be used, and the rest have a reason each", () => {
  assert.equal(reasonOf(new InsufficientDiskError(5, parts)), "InsufficientDisk");
  assert.equal(reasonOf(new LarderError("cache-path", parts)), "CachePathUnavailable");
  for (const code of ["disk", "foreign", "network", "auth", "internal"] as const) {
    assert.equal(reasonOf(new LarderError(code, parts)), "SyncFailed");
  }
});

test("the event of a failure is about the ImageCache and says what failed, why, and what to do", () => {
  assert.deepEqual(failedEvent(cache, new InsufficientDiskError(5, parts)), {
    regarding,
    type: "Warning",
    reason: "InsufficientDisk",
    action: "Pull",
    note: "cannot fill /c/a: it is full: free 2 GiB",
  });
});

test("the event of a synced resource names its digest and where it is", () => {
  const sentinel = { digest, files: ["a.tar", "b.tar"] };
  assert.deepEqual(syncedEvent(cache, { result: "pulled", sentinel, bytes: 2048 }), {
    regarding,
    type: "Normal",
    reason: "Synced",
    action: "Pull",
    note: `2 files, 2048 bytes of ${digest} are in /var/lib/image-cache/a`,
  });
});

test("one file is one file", () => {
  const sentinel = { digest, files: ["a.tar"] };
  const { note } = syncedEvent(cache, { result: "pulled", sentinel, bytes: 1 });
  assert.equal(note, `1 file, 1 bytes of ${digest} is in /var/lib/image-cache/a`);
});
