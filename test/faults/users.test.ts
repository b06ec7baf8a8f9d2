/** Root and the agent's user, taking turns at one cache path through the real command. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import * as fs from "node:fs";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { before, after, test, type TestContext } from "node:test";

import { Store } from "../../src/cache/store.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { startChild } from "../cache/child.ts";
import { firstDifference, writeVersion, type Version } from "./cache-images.ts";

const agent = 65532;
const users = [
  ["root", 0, "the agent's user", agent],
  ["the agent's user", agent, "root", 0],
] as const;
const become = new URL("../../testbed/become.ts", import.meta.url).href;
const stop = new URL("../../testbed/stop-at.ts", import.meta.url).href;
const checkout = fileURLToPath(new URL("../..", import.meta.url));

/** Where everybody may read Larder and its dependency: a checkout may lie in root's home. */
let shared: string;
let old: Version;
let young: Version;

before(async () => {
  assert.equal(process.geteuid?.(), 0, "run this suite as root: it acts as two users");
  shared = fs.mkdtempSync("/tmp/larder-users-");
  fs.chmodSync(shared, 0o755);
  for (const part of ["src", "package.json", "node_modules/commander"]) {
    await cp(join(checkout, part), join(shared, part), { recursive: true, dereference: true });
  }
  old = await writeVersion(shared, "1", 4);
  young = await writeVersion(shared, "2", 4);
});
after(() => {
  fs.rmSync(shared, { recursive: true, force: true });
});

/** A cache path of the agent's. */
async function agentsPath(t: TestContext): Promise<string> {
  const folder = await tempDirectory(t);
  fs.chmodSync(folder, 0o755);
  const path = join(folder, "cache");
  fs.mkdirSync(path);
  fs.chownSync(path, agent, agent);
  return path;
}

/** Runs `larder` as a user; `stopAt`: and kills it at that change of the disk. */
async function runAs(uid: number, words: readonly string[], stopAt = 0) {
  const main = join(shared, "src/cli/main.ts");
  const preloads = [stop, become].flatMap((url) => ["--import", url]);
  const child = spawn(process.execPath, [...preloads, main, ...words], {
    cwd: dirname(main),
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      HOME: shared,
      LARDER_TEST_UID: String(uid),
      LARDER_TEST_STOP_AT: String(stopAt),
    },
  });
  const ended = new Promise<number | string | null>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  const [end, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { end, stdout, stderr };
}

async function larderAs(uid: number, words: readonly string[]): Promise<string> {
  const { end, stdout, stderr } = await runAs(uid, words);
  assert.equal(end, 0, `${uid}: larder ${words.join(" ")}: ${stderr}`);
  return stdout;
}

function importWords(path: string, { archive }: Version, ...more: string[]): string[] {
  return ["import", "--cache-path", path, "--name", "app", ...more, archive];
}

async function assertHolds(path: string, version: Version): Promise<void> {
  assert.equal(await firstDifference(join(path, "app"), version), undefined);
  assert.deepEqual(await readdir(path), ["app"]);
  const entries = ["", "app", ...(await readdir(join(path, "app"))).map((it) => `app/${it}`)];
  const owners = entries.map((entry) => fs.lstatSync(join(path, entry)));
  assert.deepEqual(
    new Set(owners.map(({ uid, gid }) => `${uid}:${gid}`)),
    new Set(["65532:65532"]),
  );
}

for (const [first, firstUid, second, secondUid] of users) {
  test(`what ${first} imported, ${second} verifies, finds complete, repairs and replaces`, async (t) => {
    const path = await agentsPath(t);
    await larderAs(firstUid, importWords(path, old));
    await assertHolds(path, old);
    await larderAs(secondUid, ["verify", "--deep", "--cache-path", path]);
    assert.match(await larderAs(secondUid, importWords(path, old)), /already complete/);
    fs.unlinkSync(join(path, "app/big-0.tar"));
    assert.match(await larderAs(secondUid, importWords(path, old)), /pulled/);
    await assertHolds(path, old);
    assert.match(await larderAs(secondUid, importWords(path, young, "--force")), /pulled/);
    await assertHolds(path, young);
    await larderAs(firstUid, ["verify", "--deep", "--cache-path", path]);
  });

  test(`what a killed import of ${first} left is cleared up by an import of ${second}`, async (t) => {
    const path = await agentsPath(t);
    await larderAs(firstUid, importWords(path, old));
    const run = await runAs(firstUid, importWords(path, young), 30);
    assert.equal(run.end, "SIGKILL", run.stderr);
    assert.ok((await readdir(path)).length > 1);
    await larderAs(secondUid, importWords(path, young));
    await assertHolds(path, young);
  });

  test(`what ${first} imported and the agent took over, ${second} collects`, async (t) => {
    const path = await agentsPath(t);
    await larderAs(firstUid, importWords(path, old));
    const store = await Store.open(path);
    assert.ok(await store.adopt("app", new AbortController().signal));
    const request = { action: "collect", path, name: "app", files: {}, uid: secondUid } as const;
    assert.deepEqual(await startChild(t, request).outcome(), { event: "done", result: "app" });
    assert.deepEqual(await readdir(path), []);
  });
}

test("prepare gives a cache path that root filled to the agent's user, who then replaces what is in it", async (t) => {
  const path = await agentsPath(t);
  fs.chownSync(path, 0, 0);
  await larderAs(0, importWords(path, old));
  await writeFile(join(path, "flat.tar"), "somebody else's");
  await larderAs(0, ["prepare", "--uid", String(agent), path]);
  await larderAs(agent, importWords(path, young));
  assert.equal(await readFile(join(path, "flat.tar"), "utf8"), "somebody else's");
  assert.equal(fs.lstatSync(join(path, "flat.tar")).uid, 0);
  fs.unlinkSync(join(path, "flat.tar"));
  await assertHolds(path, young);
});
