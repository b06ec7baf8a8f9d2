import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { entriesOf } from "../../test/cache/fixture.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { digestOf } from "../registry/digest.ts";
import { Directory } from "./directory.ts";
import { sentinelName } from "./sentinel.ts";
import { readState } from "./state.ts";
import { recover, swap } from "./swap.ts";

const digest = digestOf(Buffer.from("image"));
const entry = ".app.tmp-0";

/** Content that says which it is; `whole: false` lacks what its sentinel lists. */
function content(path: string, which: string, whole = true): void {
  fs.mkdirSync(path, { recursive: true });
  const sentinel = { digest, files: [which], sizes: { [which]: which.length } };
  fs.writeFileSync(join(path, sentinelName), JSON.stringify(sentinel));
  if (whole) fs.writeFileSync(join(path, which), which);
}

/** A cache path with what a crash left, recovered; the one file that is in place then. */
async function afterRecovery(
  t: TestContext,
  layout: (target: string, hidden: string) => void,
): Promise<{ kind: string; files: readonly string[] }> {
  const cache = await tempDirectory(t);
  fs.mkdirSync(join(cache, entry));
  layout(join(cache, "app"), join(cache, entry));
  using parent = Directory.open(cache);
  await recover(parent, entry, "app");
  assert.ok(!fs.existsSync(join(cache, entry)), "the hidden directory is gone");
  const state = await readState(parent, "app", {});
  const files = "sentinel" in state ? (state.sentinel?.files ?? []) : [];
  return { kind: state.kind, files };
}

test("the swap puts new content in the place of old content, and of none", async (t) => {
  for (const before of ["old", "none"]) {
    const cache = await tempDirectory(t);
    content(join(cache, entry, "new"), "new");
    if (before === "old") content(join(cache, "app"), "old");
    using parent = Directory.open(cache);
    using hidden = parent.open(entry);
    await swap(parent, hidden, "app");
    assert.deepEqual(await entriesOf(join(cache, "app")), [sentinelName, "new"]);
    assert.deepEqual(await entriesOf(join(cache, entry)), before === "old" ? ["old"] : []);
  }
});

test("a swap that fails half-way takes back its first half", async (t) => {
  const cache = await tempDirectory(t);
  content(join(cache, "app"), "old");
  fs.mkdirSync(join(cache, entry));
  using parent = Directory.open(cache);
  using hidden = parent.open(entry);
  await assert.rejects(
    swap(parent, hidden, "app"),
    /cannot put the new content of .*\/app in place/,
  );
  assert.equal((await readState(parent, "app", {})).kind, "complete");
});

test("a crash while filling leaves the old content", async (t) => {
  const found = await afterRecovery(t, (target, hidden) => {
    content(target, "old");
    fs.mkdirSync(join(hidden, "new"));
    fs.mkdirSync(join(hidden, "spare"));
    fs.writeFileSync(join(hidden, "new", "half"), "ha");
    fs.writeFileSync(join(hidden, "spare", "17"), "spare");
  });
  assert.deepEqual(found, { kind: "complete", files: ["old"] });
});

test("a crash while filling for the first time leaves nothing", async (t) => {
  const found = await afterRecovery(t, (_target, hidden) => {
    fs.mkdirSync(join(hidden, "new"));
    fs.writeFileSync(join(hidden, "new", "half"), "ha");
  });
  assert.deepEqual(found, { kind: "absent", files: [] });
});

test("a crash before the swap leaves the old content, though the new is whole", async (t) => {
  const found = await afterRecovery(t, (target, hidden) => {
    content(target, "old");
    content(join(hidden, "new"), "new");
  });
  assert.deepEqual(found, { kind: "complete", files: ["old"] });
});

test("a crash before the swap where nothing stood leaves the new content whole", async (t) => {
  const found = await afterRecovery(t, (_target, hidden) => content(join(hidden, "new"), "new"));
  assert.deepEqual(found, { kind: "complete", files: ["new"] });
});

test("a crash between the two renames leaves the new content whole", async (t) => {
  const found = await afterRecovery(t, (_target, hidden) => {
    content(join(hidden, "new"), "new");
    content(join(hidden, "old"), "old");
  });
  assert.deepEqual(found, { kind: "complete", files: ["new"] });
});

test("a crash between the two renames with new content that is not whole puts the old back", async (t) => {
  for (const sentinel of ["cut", "missing file", "none"]) {
    const found = await afterRecovery(t, (_target, hidden) => {
      content(join(hidden, "new"), "new", sentinel !== "missing file");
      if (sentinel === "cut") fs.truncateSync(join(hidden, "new", sentinelName), 20);
      if (sentinel === "none") fs.unlinkSync(join(hidden, "new", sentinelName));
      content(join(hidden, "old"), "old");
    });
    assert.deepEqual(found, { kind: "complete", files: ["old"] }, sentinel);
  }
});

test("a crash after the swap leaves the new content, and the old is removed", async (t) => {
  const found = await afterRecovery(t, (target, hidden) => {
    content(target, "new");
    content(join(hidden, "old"), "old");
  });
  assert.deepEqual(found, { kind: "complete", files: ["new"] });
});

test("old content whose removal had begun is never put back", async (t) => {
  const found = await afterRecovery(t, (_target, hidden) => {
    content(join(hidden, "gone"), "old");
    content(join(hidden, "new"), "new", false);
  });
  assert.deepEqual(found, { kind: "absent", files: [] });
});

test("old content that needed repair comes back to be repaired", async (t) => {
  const found = await afterRecovery(t, (_target, hidden) => {
    content(join(hidden, "old"), "old", false);
    content(join(hidden, "new"), "new", false);
  });
  assert.deepEqual(found, { kind: "incomplete", files: ["old"] });
});

test("recovery never touches what somebody else put in the place meanwhile", async (t) => {
  const found = await afterRecovery(t, (target, hidden) => {
    fs.mkdirSync(target);
    content(join(hidden, "new"), "new");
    content(join(hidden, "old"), "old");
  });
  assert.deepEqual(found, { kind: "foreign", files: [] });
});

test("recovery copes with a leftover of any shape, and follows no link in it", async (t) => {
  const outside = await tempDirectory(t);
  fs.writeFileSync(join(outside, "precious"), "");
  const found = await afterRecovery(t, (_target, hidden) => {
    fs.symlinkSync(outside, join(hidden, "new"));
    fs.symlinkSync(outside, join(hidden, "old"));
    fs.mkdirSync(join(hidden, "deep", "deeper"), { recursive: true });
    fs.writeFileSync(Buffer.concat([Buffer.from(`${hidden}/deep/`), Buffer.from([0xff])]), "");
    fs.chmodSync(join(hidden, "deep"), 0o000);
  });
  assert.deepEqual(found, { kind: "absent", files: [] });
  assert.deepEqual(await entriesOf(outside), ["precious"]);
});

test("recovering a leftover that is gone already is no error", async (t) => {
  const cache = await tempDirectory(t);
  using parent = Directory.open(cache);
  await recover(parent, entry, "app");
  assert.deepEqual(await entriesOf(cache), []);
});
