import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { entriesOf } from "../../test/cache/fixture.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { Store } from "./store.ts";

const name = ".larder-agent.json";

async function opened(t: TestContext) {
  const path = await tempDirectory(t);
  return { path, file: join(path, name), store: await Store.open(path) };
}

test("what was written is read, and only its owner may read it", async (t) => {
  const { path, file, store } = await opened(t);
  assert.equal(store.readAgentState(), undefined);
  await store.writeAgentState("one\n");
  await store.writeAgentState("two\n");
  assert.equal(store.readAgentState()?.toString(), "two\n");
  assert.equal(fs.statSync(file).mode & 0o7777, 0o600);
  assert.deepEqual(await entriesOf(path), [name]);
});

test("the mode is 0600 whatever the umask", async (t) => {
  const { file, store } = await opened(t);
  const umask = process.umask(0o777);
  t.after(() => process.umask(umask));
  await store.writeAgentState("x");
  assert.equal(fs.statSync(file).mode & 0o7777, 0o600);
});

test("it is replaced by another file, so that who reads the old one reads it whole", async (t) => {
  const { file, store } = await opened(t);
  await store.writeAgentState("old");
  const reader = fs.openSync(file, "r");
  t.after(() => {
    fs.closeSync(reader);
  });
  await store.writeAgentState("new and longer");
  assert.equal(fs.readFileSync(reader, "utf8"), "old");
});

test("a link in its place is neither read nor written through, but replaced", async (t) => {
  const { path, file, store } = await opened(t);
  const other = join(path, "other");
  fs.writeFileSync(other, "somebody's");
  fs.symlinkSync(other, file);
  assert.equal(store.readAgentState(), undefined);
  await store.writeAgentState("x");
  assert.equal(fs.readFileSync(other, "utf8"), "somebody's");
  assert.equal(fs.lstatSync(file).isFile(), true);
  assert.equal(store.readAgentState()?.toString(), "x");
});

test("a directory in its place is nothing that was kept; it stays, and the error names it", async (t) => {
  const { path, file, store } = await opened(t);
  fs.mkdirSync(file);
  assert.equal(store.readAgentState(), undefined);
  await assert.rejects(store.writeAgentState("x"), {
    code: "disk",
    message: /^cannot keep the agent's state below .*EISDIR/,
  });
  assert.deepEqual(await entriesOf(path), [name]);
});

test("what a cut write left, whatever it is, is in nobody's way", async (t) => {
  const { path, store } = await opened(t);
  const leftover = join(path, `${name}.new`);
  fs.writeFileSync(leftover, "hal", { mode: 0o400 });
  await store.writeAgentState("one");
  fs.symlinkSync("/etc/passwd", leftover);
  await store.writeAgentState("two");
  fs.mkdirSync(leftover);
  await store.writeAgentState("three");
  assert.equal(store.readAgentState()?.toString(), "three");
  assert.deepEqual(await entriesOf(path), [name]);
});

test("a file that is too long to be the agent's is not read", async (t) => {
  const { file, store } = await opened(t);
  fs.writeFileSync(file, "");
  fs.truncateSync(file, 16 * 1024 * 1024 + 1);
  assert.equal(store.readAgentState(), undefined);
});

test("it is no resource's: collecting and sweeping leave it", async (t) => {
  const { path, store } = await opened(t);
  await store.writeAgentState("x");
  assert.deepEqual(store.collectable(), []);
  assert.deepEqual(await store.collect({ mayRemove: () => true }), []);
  assert.deepEqual(await entriesOf(path), [name]);
});

test("what root writes in another user's cache path is that user's, who can read and replace it", async (t) => {
  assert.equal(process.geteuid?.(), 0, "run this suite as root: it acts as two users");
  const { path, file, store } = await opened(t);
  fs.chownSync(path, 65_532, 65_532);
  await store.writeAgentState("by root");
  const { uid, gid } = fs.statSync(file);
  assert.deepEqual([uid, gid], [65_532, 65_532]);
  await asUser(65_532, async () => {
    assert.equal(store.readAgentState()?.toString(), "by root");
    await store.writeAgentState("by the agent");
  });
  assert.equal(store.readAgentState()?.toString(), "by the agent");
});

test("a user who may not read it is told so, and who may not write there, too", async (t) => {
  assert.equal(process.geteuid?.(), 0, "run this suite as root: it acts as two users");
  const { path, store } = await opened(t);
  fs.chmodSync(path, 0o755);
  await store.writeAgentState("root's");
  await asUser(65_532, async () => {
    assert.throws(() => store.readAgentState(), {
      code: "disk",
      message: /EACCES.*larder prepare/,
    });
    await assert.rejects(store.writeAgentState("x"), { code: "disk", message: /larder prepare/ });
  });
});

async function asUser(uid: number, action: () => Promise<void>): Promise<void> {
  process.setegid?.(uid);
  process.seteuid?.(uid);
  try {
    await action();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}
