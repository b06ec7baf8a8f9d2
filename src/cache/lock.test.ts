import assert from "node:assert/strict";
import * as fs from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { entriesOf } from "../../test/cache/fixture.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { LarderError } from "../errors.ts";
import { Directory } from "./directory.ts";
import { lock, tryLock } from "./lock.ts";

const never = new AbortController().signal;

test("the hidden temporary directory is all that is beside the target while it runs", async (t) => {
  const path = await tempDirectory(t);
  using parent = Directory.open(path);
  const run = await lock(parent, "app", { signal: never });
  assert.deepEqual(await entriesOf(path), [run.entry]);
  assert.deepEqual(await entriesOf(join(path, run.entry)), ["lock"]);
  await run.release();
  assert.deepEqual(await entriesOf(path), []);
});

test("a second run for the same name waits for the first and says so once", async (t) => {
  const path = await tempDirectory(t);
  using parent = Directory.open(path);
  const first = await lock(parent, "app", { signal: never });
  const said: string[] = [];
  let entered = false;
  const second = lock(parent, "app", { signal: never, onWait: (text) => said.push(text) });
  void second.then(() => {
    entered = true;
  });
  await until("it says that it waits", () => said.length > 0);
  assert.match(said[0] ?? "", /another run is filling .*\/app .*waiting/);
  assert.equal(entered, false);
  await first.release();
  const run = await second;
  assert.equal(said.length, 1);
  await run.release();
  assert.deepEqual(await entriesOf(path), []);
});

test("runs of two names do not wait for each other", async (t) => {
  const path = await tempDirectory(t);
  using parent = Directory.open(path);
  const first = await lock(parent, "app", { signal: never });
  const second = await lock(parent, "app.tmp-x", { signal: never });
  await Promise.all([first.release(), second.release()]);
  assert.deepEqual(await entriesOf(path), []);
});

test("of many runs that start at once, one holds the name at a time, and each gets its turn", async (t) => {
  const path = await tempDirectory(t);
  using parent = Directory.open(path);
  let inside = 0;
  let turns = 0;
  const runOnce = async (): Promise<void> => {
    const run = await lock(parent, "app", { signal: never });
    inside += 1;
    assert.equal(inside, 1);
    turns += 1;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    inside -= 1;
    await run.release();
  };
  await Promise.all(Array.from({ length: 20 }, runOnce));
  assert.equal(turns, 20);
  assert.deepEqual(await entriesOf(path), []);
});

test("waiting stops when told to, and leaves nothing behind", async (t) => {
  const path = await tempDirectory(t);
  using parent = Directory.open(path);
  const first = await lock(parent, "app", { signal: never });
  const stop = new AbortController();
  const second = lock(parent, "app", { signal: stop.signal, onWait: () => stop.abort() });
  await assert.rejects(
    second,
    (error) => error instanceof LarderError && error.code === "interrupted",
  );
  assert.deepEqual(await entriesOf(path), [first.entry]);
  await first.release();
});

test("a dead run's directory is told from a live one's at once", async (t) => {
  const path = await tempDirectory(t);
  using parent = Directory.open(path);
  const dead = [".app.tmp-empty", ".app.tmp-file", ".app.tmp-refused", ".app.tmp-link"];
  for (const entry of dead) fs.mkdirSync(join(path, entry));
  fs.writeFileSync(join(path, ".app.tmp-file/lock"), "");
  await leaveSocket(join(path, ".app.tmp-refused/lock"));
  const live = createServer().listen(join(path, "live"));
  t.after(() => live.close());
  fs.symlinkSync(join(path, "live"), join(path, ".app.tmp-link/lock"));

  const run = await lock(parent, "app", { signal: never });
  assert.deepEqual([...run.dead].sort(), dead.sort());
  await run.release();
});

test("leftovers of other names, links and files are no dead runs of this one", async (t) => {
  const path = await tempDirectory(t);
  using parent = Directory.open(path);
  fs.mkdirSync(join(path, ".other.tmp-1"));
  fs.mkdirSync(join(path, "elsewhere"));
  fs.symlinkSync("elsewhere", join(path, ".app.tmp-1"));
  fs.writeFileSync(join(path, ".app.tmp-2"), "");
  const run = await lock(parent, "app", { signal: never });
  assert.deepEqual(run.dead, []);
  await run.release();
});

test("who does not want to wait is told at once that somebody else runs", async (t) => {
  const path = await tempDirectory(t);
  using parent = Directory.open(path);
  const first = await lock(parent, "app", { signal: never });
  assert.equal(await tryLock(parent, "app"), undefined);
  await first.release();
  const second = await tryLock(parent, "app");
  assert.ok(second);
  await second.release();
});

test("who sees a run whose entry sorts lower goes away, and waits for it", async (t) => {
  const path = await tempDirectory(t);
  using parent = Directory.open(path);
  const stop = await liveRun(path, ".app.tmp-0");
  let saidThen: string[] = [];
  const onWait = (): void => {
    saidThen = fs.readdirSync(path);
    void stop();
  };
  const run = await lock(parent, "app", { signal: never, onWait });
  assert.deepEqual(saidThen, [".app.tmp-0"]);
  await run.release();
});

test("who sees a run whose entry sorts higher keeps its place, and waits for it", async (t) => {
  const path = await tempDirectory(t);
  using parent = Directory.open(path);
  const stop = await liveRun(path, ".app.tmp-z");
  let own: string | undefined;
  const onWait = (): void => {
    own = fs.readdirSync(path).find((entry) => entry !== ".app.tmp-z");
    void stop();
  };
  const run = await lock(parent, "app", { signal: never, onWait });
  assert.equal(run.entry, own);
  await run.release();
});

test("a run whose directory was swept before its turn came begins anew", async (t) => {
  const path = await tempDirectory(t);
  using parent = Directory.open(path);
  const stop = await liveRun(path, ".app.tmp-z");
  let own: string | undefined;
  const onWait = (): void => {
    own = fs.readdirSync(path).find((entry) => entry !== ".app.tmp-z");
    fs.rmSync(join(path, own ?? ""), { recursive: true });
    void stop();
  };
  const run = await lock(parent, "app", { signal: never, onWait });
  assert.notEqual(run.entry, own);
  assert.ok(fs.existsSync(join(path, run.entry, "lock")));
  await run.release();
});

test("a cache path longer than a socket's name may be is no obstacle", async (t) => {
  const path = join(await tempDirectory(t), "x".repeat(200), "y".repeat(200));
  fs.mkdirSync(path, { recursive: true });
  using parent = Directory.open(path);
  const first = await lock(parent, "a".repeat(63), { signal: never });
  assert.equal(await tryLock(parent, "a".repeat(63)), undefined);
  await first.release();
});

test("every user may ask whether a run lives", async (t) => {
  const path = await tempDirectory(t);
  using parent = Directory.open(path);
  const before = process.umask(0o077);
  t.after(() => process.umask(before));
  const run = await lock(parent, "app", { signal: never });
  assert.equal(fs.statSync(join(path, run.entry)).mode & 0o777, 0o755);
  assert.equal(fs.statSync(join(path, run.entry, "lock")).mode & 0o666, 0o666);
  await run.release();
});

test("a cache path that is removed meanwhile is an error, not an endless wait", async (t) => {
  const path = join(await tempDirectory(t), "cache");
  fs.mkdirSync(path);
  using parent = Directory.open(path);
  fs.rmdirSync(path);
  await assert.rejects(lock(parent, "app", { signal: never }), /disk|removed/);
});

/** A run of another process, as far as can be seen; the function ends it. */
async function liveRun(path: string, entry: string): Promise<() => Promise<void>> {
  fs.mkdirSync(join(path, entry));
  const callers: Socket[] = [];
  const server = createServer((socket) => callers.push(socket));
  await new Promise<void>((resolve) => {
    server.listen(join(path, entry, "lock"), resolve);
  });
  return async () => {
    fs.rmSync(join(path, entry), { recursive: true });
    await until("somebody waits for it", () => callers.length > 0);
    server.close();
    for (const socket of callers) socket.destroy();
  };
}

/** A socket whose process is gone. */
async function leaveSocket(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(`${path}.bound`, resolve);
  });
  fs.renameSync(`${path}.bound`, path);
  await new Promise((resolve) => {
    server.close(resolve);
  });
}
