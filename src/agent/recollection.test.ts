import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { tempDirectory } from "../../testbed/temp-directory.ts";
import { Store } from "../cache/store.ts";
import { parseCache } from "./cache-spec.ts";
import { nothingKnown, type Memory } from "./memory.ts";
import { Recollection } from "./recollection.ts";

const memory: Memory = {
  paths: ["/var/lib/image-cache"],
  // In the order of what is parsed, as the agent has it.
  desired: [parseCache({ name: "a", uid: "u" }, { source: "a:1" }, "/c")].filter(isDefined),
  orphans: [{ cachePath: "/var/lib/image-cache", name: "b", since: 1_700_000_000_000, seen: true }],
};

function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

async function recalling(t: TestContext) {
  const path = await tempDirectory(t);
  const file = join(path, ".larder-agent.json");
  return { path, file, fresh: () => new Recollection(() => Store.open(path)) };
}

test("what one agent kept is what the next one knows", async (t) => {
  const { fresh } = await recalling(t);
  const before = fresh();
  before.set(memory);
  await before.keep();
  const after = fresh();
  await after.load();
  assert.deepEqual(after.memory, memory);
});

test("where nothing was kept, nothing is known", async (t) => {
  const { fresh } = await recalling(t);
  const it = fresh();
  await it.load();
  assert.deepEqual(it.memory, nothingKnown);
});

test("what did not change is not written again, also after a restart", async (t) => {
  const { fresh, file } = await recalling(t);
  const before = fresh();
  before.set(memory);
  await before.keep();
  const { ino } = fs.statSync(file);
  before.set({ ...memory });
  await before.keep();
  const after = fresh();
  await after.load();
  await after.keep();
  assert.equal(fs.statSync(file).ino, ino);
});

test("a memory that cannot be read is replaced by the first one that is kept", async (t) => {
  const { fresh, file } = await recalling(t);
  fs.writeFileSync(file, "{");
  const it = fresh();
  await it.load();
  assert.deepEqual(it.memory, nothingKnown);
  await it.keep();
  assert.equal(JSON.parse(fs.readFileSync(file, "utf8")).version, 1);
});

test("what could not be written is written by the next keep", async (t) => {
  const { path, file, fresh } = await recalling(t);
  fs.rmdirSync(path);
  const it = fresh();
  it.set(memory);
  await assert.rejects(it.keep(), { code: "cache-path" });
  fs.mkdirSync(path);
  await it.keep();
  assert.ok(fs.existsSync(file));
});

test("what the last agent kept is joined when it can be read only later, and never written over", async (t) => {
  const { path, file, fresh } = await recalling(t);
  const before = fresh();
  before.set(memory);
  await before.keep();
  fs.renameSync(path, `${path}.away`);
  const late = fresh();
  await assert.rejects(late.load(), { code: "cache-path" });
  late.set({ ...nothingKnown, paths: ["/data"] });
  fs.renameSync(`${path}.away`, path);
  await late.keep();
  assert.deepEqual(late.memory, { ...memory, paths: ["/data", ...memory.paths] });
  const next = fresh();
  await next.load();
  assert.deepEqual(next.memory, late.memory);
  assert.ok(fs.existsSync(file));
});

test("of an orphan that both tell of, what is known now counts", async (t) => {
  const { fresh } = await recalling(t);
  const before = fresh();
  before.set(memory);
  await before.keep();
  const late = fresh();
  const orphans = memory.orphans.map((orphan) => ({ ...orphan, since: 1_800_000_000_000 }));
  late.set({ ...nothingKnown, orphans });
  await late.load();
  assert.deepEqual(late.memory.orphans, orphans);
});

test("what somebody removed is written again", async (t) => {
  const { fresh, file } = await recalling(t);
  const it = fresh();
  it.set(memory);
  await it.keep();
  fs.rmSync(file);
  await it.keep();
  assert.ok(fs.existsSync(file));
});
