import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { tempDirectory } from "../../testbed/temp-directory.ts";
import { Directory } from "./directory.ts";
import { flushFiles } from "./flush.ts";

const never = new AbortController().signal;

/** A command that takes the place of `sync` and writes down how it was called. */
async function command(t: TestContext, body: string): Promise<string> {
  const path = join(await tempDirectory(t), "sync");
  fs.writeFileSync(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return path;
}

test("many files are flushed in bulk: sync -f of the directory that they are in", async (t) => {
  using directory = Directory.open(await tempDirectory(t));
  const log = join(directory.path, "log");
  const sync = await command(t, `echo "$* $(pwd -P)" > ${log}`);
  await flushFiles(directory, ["a", "b"], 1, never, sync);
  assert.equal(fs.readFileSync(log, "utf8"), `-f . ${fs.realpathSync(directory.path)}\n`);
});

test("where sync is missing or fails, files are flushed one by one", async (t) => {
  using directory = Directory.open(await tempDirectory(t));
  fs.writeFileSync(join(directory.path, "a"), "");
  for (const sync of ["/nonexistent/sync", await command(t, "exit 1")]) {
    await flushFiles(directory, ["a"], 0, never, sync);
    // The one that is missing is noticed only by who opens each of them.
    await assert.rejects(flushFiles(directory, ["a", "b"], 0, never, sync), /cannot flush .*\/b/);
  }
});

test("few files are flushed one by one", async (t) => {
  using directory = Directory.open(await tempDirectory(t));
  await assert.rejects(flushFiles(directory, ["b"], 1, never, "true"), /cannot flush .*\/b/);
});

test("a flush that takes long does not hold up an interruption", async (t) => {
  using directory = Directory.open(await tempDirectory(t));
  const stop = new AbortController();
  const flushing = flushFiles(directory, ["a"], 0, stop.signal, await command(t, "exec sleep 60"));
  stop.abort(new Error("told to stop"));
  await assert.rejects(flushing, /told to stop/);
});
