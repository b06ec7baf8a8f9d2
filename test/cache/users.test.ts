import assert from "node:assert/strict";
import * as fs from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { Directory } from "../../src/cache/directory.ts";
import { lock } from "../../src/cache/lock.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { startChild } from "./child.ts";
import { entriesOf, fill, filesImage } from "./fixture.ts";

const agent = 65532;
const files = { "a.tar": "alpha", "b.tar": "b".repeat(1_000_000) };

/** A cache path of the agent's, which root fills, too. */
async function agentsPath(t: TestContext): Promise<string> {
  assert.equal(process.geteuid?.(), 0, "run this suite as root: it acts as two users");
  const path = await tempDirectory(t);
  fs.chownSync(path, agent, agent);
  return path;
}

/** What a run as the agent's user comes to: a result, or an error's code and message. */
async function asAgent(
  t: TestContext,
  path: string,
  action: "fill" | "state" | "collect" = "fill",
) {
  const child = startChild(t, { action, path, name: "app", files, uid: agent });
  const outcome = await child.outcome();
  if (outcome.event === "done") return { result: outcome.result };
  return outcome.event === "error" ? outcome : assert.fail(outcome.event);
}

function ownersOf(path: string): Set<string> {
  const entries = fs.readdirSync(path, { recursive: true, encoding: "utf8" });
  const stats = ["", ...entries].map((entry) => fs.lstatSync(join(path, entry)));
  return new Set(stats.map(({ uid, gid }) => `${uid}:${gid}`));
}

test("what root writes gets the owner and group of the cache path", async (t) => {
  const path = await agentsPath(t);
  let during: Set<string> | undefined;
  await fill(path, async () => {
    during = ownersOf(path);
    return filesImage(files);
  });
  assert.deepEqual(during, new Set(["65532:65532"]));
  assert.deepEqual(ownersOf(path), new Set(["65532:65532"]));
});

test("the agent repairs what root filled", async (t) => {
  const path = await agentsPath(t);
  await fill(path, filesImage(files));
  fs.unlinkSync(join(path, "app", "a.tar"));
  assert.deepEqual(await asAgent(t, path), { result: "pulled" });
  assert.deepEqual(await entriesOf(path), ["app"]);
});

test("root repairs what the agent filled", async (t) => {
  const path = await agentsPath(t);
  assert.deepEqual(await asAgent(t, path), { result: "pulled" });
  fs.unlinkSync(join(path, "app", "a.tar"));
  assert.equal((await fill(path, filesImage(files))).result, "pulled");
  assert.deepEqual(ownersOf(path), new Set(["65532:65532"]));
});

test("the agent sweeps what a killed run of root's left", async (t) => {
  const path = await agentsPath(t);
  const child = startChild(t, { action: "fill", path, name: "app", files, forever: true });
  await child.saw("opened");
  await child.kill();
  const outcome = await asAgent(t, path);
  assert.ok("result" in outcome, JSON.stringify(outcome));
  assert.deepEqual(await entriesOf(path), ["app"]);
});

test("the agent sweeps what a run of root's left that was killed before it gave it away", async (t) => {
  const path = await agentsPath(t);
  fs.mkdirSync(join(path, ".app.tmp-1"), { mode: 0o700 });
  assert.deepEqual(await asAgent(t, path), { result: "pulled" });
  assert.deepEqual(await entriesOf(path), ["app"]);
});

test("the agent sees that root's run lives, and waits for it", async (t) => {
  const path = await agentsPath(t);
  using parent = Directory.open(path);
  const run = await lock(parent, "app", { signal: new AbortController().signal });
  const child = startChild(t, { action: "fill", path, name: "app", files, uid: agent });
  await child.saw("waiting");
  await run.release();
  assert.deepEqual(await child.outcome(), { event: "done", result: "pulled" });
});

test("a leftover that may not be looked into is an error with its remedy, not taken for dead", async (t) => {
  const path = await agentsPath(t);
  fs.mkdirSync(join(path, ".app.tmp-1", "new"), { recursive: true });
  fs.chmodSync(join(path, ".app.tmp-1"), 0o700);
  const outcome = await asAgent(t, path);
  assert.ok("code" in outcome);
  assert.equal(outcome.code, "disk");
  assert.match(outcome.message, /cannot tell whether .*\.app\.tmp-1 lives: .*larder prepare/);
});

test("a cache path that is not writable is an error that says how to give it to the user", async (t) => {
  const path = await agentsPath(t);
  fs.chownSync(path, 0, 0);
  fs.chmodSync(path, 0o755);
  const outcome = await asAgent(t, path);
  assert.ok("code" in outcome);
  assert.equal(outcome.code, "cache-path");
  assert.match(outcome.message, /user 65532 may not write there: .*larder prepare --uid 65532 \//);
});

test("what is complete is complete for who may not write there, too", async (t) => {
  const path = await agentsPath(t);
  await fill(path, filesImage(files));
  fs.chownSync(path, 0, 0);
  fs.chmodSync(path, 0o755);
  assert.deepEqual(await asAgent(t, path), { result: "complete" });
});

test("a filesystem error is an error, never a state", async (t) => {
  const path = await agentsPath(t);
  await fill(path, filesImage(files));
  fs.chownSync(join(path, "app"), 0, 0);
  fs.chmodSync(join(path, "app"), 0o700);
  const outcome = await asAgent(t, path, "state");
  assert.ok("code" in outcome);
  assert.equal(outcome.code, "disk");
  assert.match(outcome.message, /cannot look at .*\/app: permission denied \(EACCES\)/);
});

test("content that another user's directory holds back is an error, and stays as it was", async (t) => {
  const path = await agentsPath(t);
  await fill(path, filesImage(files));
  fs.chownSync(join(path, "app"), 0, 0);
  fs.unlinkSync(join(path, "app", "a.tar"));
  const outcome = await asAgent(t, path);
  assert.ok("code" in outcome);
  assert.equal(outcome.code, "disk");
  assert.match(outcome.message, /in place: permission denied.*larder prepare/);
  assert.deepEqual(await entriesOf(path), ["app"]);
});

test("a run that may not be talked to counts as a live one, and is waited for", async (t) => {
  const path = await agentsPath(t);
  const hidden = join(path, ".app.tmp-1");
  fs.mkdirSync(hidden);
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(join(hidden, "lock"), resolve);
  });
  fs.chmodSync(join(hidden, "lock"), 0o600);
  const child = startChild(t, { action: "fill", path, name: "app", files, uid: agent });
  await child.saw("waiting");
  assert.ok(fs.existsSync(join(hidden, "lock")));
  fs.rmSync(hidden, { recursive: true });
  server.close();
  assert.deepEqual(await child.outcome(), { event: "done", result: "pulled" });
});

test("a leftover that cannot be swept keeps no other from being swept", async (t) => {
  const path = await agentsPath(t);
  fs.mkdirSync(join(path, ".app.tmp-1", "new"), { recursive: true });
  fs.chmodSync(join(path, ".app.tmp-1"), 0o700);
  fs.mkdirSync(join(path, ".a.tmp-1"));
  fs.mkdirSync(join(path, ".z.tmp-1"));
  const child = startChild(t, { action: "collect", path, name: "app", files, uid: agent });
  const outcome = await child.outcome();
  assert.ok(outcome.event === "error");
  assert.match(outcome.message, /\.app\.tmp-1/);
  assert.deepEqual(await entriesOf(path), [".app.tmp-1"]);
});

test("a directory that the agent's user may not look into keeps nothing else from being collected", async (t) => {
  const path = await agentsPath(t);
  await fill(path, filesImage(files), { owner: "image-cache-agent" });
  fs.mkdirSync(join(path, "closed"), { mode: 0o700 });
  assert.deepEqual(await asAgent(t, path, "collect"), { result: "app" });
  assert.deepEqual(await entriesOf(path), ["closed"]);
});
