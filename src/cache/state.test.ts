import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { tempDirectory } from "../../testbed/temp-directory.ts";
import { digestOf } from "../registry/digest.ts";
import { Directory } from "./directory.ts";
import { sentinelName } from "./sentinel.ts";
import { readState, type State, type Want } from "./state.ts";

const digest = digestOf(Buffer.from("one"));
const other = digestOf(Buffer.from("another"));

interface Place {
  readonly path: string;
  readonly state: (want?: Want) => Promise<State>;
  readonly write: (file: string, content: string) => void;
  readonly sentinel: (value: unknown) => void;
}

/** A directory `app` in a cache path, with one file in it. */
async function place(t: TestContext): Promise<Place> {
  const cache = await tempDirectory(t);
  const path = join(cache, "app");
  fs.mkdirSync(path);
  const write = (file: string, content: string): void => {
    fs.writeFileSync(join(path, file), content);
  };
  write("a.tar", "12345");
  return {
    path,
    write,
    sentinel: (value) => write(sentinelName, JSON.stringify(value)),
    state: async (want = {}) => {
      using parent = Directory.open(cache);
      return await readState(parent, "app", want);
    },
  };
}

test("nothing under the name is absent", async (t) => {
  const { path, state } = await place(t);
  fs.rmSync(path, { recursive: true });
  assert.deepEqual(await state(), { kind: "absent" });
});

test("a directory without a sentinel is foreign", async (t) => {
  const { state } = await place(t);
  assert.deepEqual(await state(), { kind: "foreign", what: "a directory without a sentinel" });
});

test("a file and a link are foreign, even a link to a complete directory", async (t) => {
  const { path, state, sentinel } = await place(t);
  sentinel({ digest, files: ["a.tar"] });
  fs.renameSync(path, `${path}-real`);
  fs.symlinkSync(`${path}-real`, path);
  assert.deepEqual(await state(), { kind: "foreign", what: "a symbolic link" });
  fs.unlinkSync(path);
  fs.writeFileSync(path, "");
  assert.deepEqual(await state(), { kind: "foreign", what: "a file" });
});

test("a sentinel that is not a valid one makes it incomplete", async (t) => {
  const { path, state, write } = await place(t);
  write(sentinelName, "{");
  assert.deepEqual(await state(), {
    kind: "incomplete",
    why: "its sentinel is not a JSON object",
  });
  fs.unlinkSync(join(path, sentinelName));
  fs.mkdirSync(join(path, sentinelName));
  const { kind } = await state();
  assert.equal(kind, "incomplete");
});

test("a sentinel is not read through a link, nor from a pipe", async (t) => {
  const { path, state } = await place(t);
  fs.writeFileSync(`${path}-sentinel`, JSON.stringify({ digest, files: [] }));
  fs.symlinkSync(`${path}-sentinel`, join(path, sentinelName));
  assert.equal((await state()).kind, "incomplete");
  fs.unlinkSync(join(path, sentinelName));
  execFileSync("mkfifo", [join(path, sentinelName)]);
  assert.deepEqual(await state(), { kind: "incomplete", why: "its sentinel is a pipe" });
});

test("a sentinel of more than 256 MiB is not read", async (t) => {
  const { path, state, write } = await place(t);
  write(sentinelName, "{}");
  fs.truncateSync(join(path, sentinelName), 256 * 1024 * 1024 + 1);
  const found = await state();
  assert.ok(found.kind === "incomplete");
  assert.match(found.why, /too long/);
});

test("a listed file that is missing makes it incomplete", async (t) => {
  const { state, sentinel } = await place(t);
  sentinel({ digest, files: ["a.tar", "b.tar"] });
  const found = await state();
  assert.ok(found.kind === "incomplete");
  assert.equal(found.why, '"b.tar" is missing');
  assert.equal(found.sentinel?.digest, digest);
});

test("a listed file that is not a regular file makes it incomplete", async (t) => {
  const { path, state, sentinel } = await place(t);
  sentinel({ digest, files: ["a.tar", "b.tar"] });
  fs.symlinkSync("a.tar", join(path, "b.tar"));
  const found = await state();
  assert.ok(found.kind === "incomplete");
  assert.equal(found.why, '"b.tar" is a symbolic link');
});

test("a listed file of another size makes it incomplete", async (t) => {
  const { state, sentinel } = await place(t);
  sentinel({ digest, files: ["a.tar"], sizes: { "a.tar": 6 } });
  const found = await state();
  assert.ok(found.kind === "incomplete");
  assert.equal(found.why, '"a.tar" has 5 bytes instead of 6');
});

test("a sentinel without sizes is complete when its files are there", async (t) => {
  const { state, sentinel } = await place(t);
  sentinel({ digest, files: ["a.tar"] });
  assert.equal((await state({ source: "r.example.com/a:1" })).kind, "complete");
});

test("files that no sentinel lists change nothing", async (t) => {
  const { state, sentinel, write } = await place(t);
  write("notes.txt", "by hand");
  sentinel({ digest, files: ["a.tar"], sizes: { "a.tar": 5 } });
  assert.equal((await state()).kind, "complete");
});

test("another source than the one asked for makes it stale", async (t) => {
  const { state, sentinel } = await place(t);
  sentinel({ digest, files: ["a.tar"], source: "r.example.com/a:1" });
  const found = await state({ source: "r.example.com/a:2" });
  assert.ok(found.kind === "stale");
  assert.match(found.why, /r\.example\.com\/a:1/);
});

test("a sentinel without a source is never stale, whatever reference is asked for", async (t) => {
  const { state, sentinel } = await place(t);
  sentinel({ digest, files: ["a.tar"] });
  assert.equal((await state({ source: "r.example.com/a:1" })).kind, "complete");
  assert.equal((await state({ source: "busybox" })).kind, "complete");
});

test("two spellings of one source are not stale", async (t) => {
  const { state, sentinel } = await place(t);
  sentinel({ digest, files: ["a.tar"], source: "docker.io/library/busybox:latest" });
  assert.equal((await state({ source: "busybox" })).kind, "complete");
});

test("a recorded source that is no reference is stale, not an error", async (t) => {
  const { state, sentinel } = await place(t);
  sentinel({ digest, files: ["a.tar"], source: "::" });
  assert.equal((await state({ source: "busybox" })).kind, "stale");
});

test("for an archive, another manifest's digest makes it stale, and the same one does not", async (t) => {
  const { state, sentinel } = await place(t);
  sentinel({ digest, files: ["a.tar"] });
  assert.equal((await state({ digest: other })).kind, "stale");
  assert.equal((await state({ digest })).kind, "complete");
});

test("an incomplete directory is incomplete, whatever its source", async (t) => {
  const { state, sentinel } = await place(t);
  sentinel({ digest, files: ["b.tar"], source: "r.example.com/a:1" });
  assert.equal((await state({ source: "r.example.com/a:2" })).kind, "incomplete");
});

test("listed names that every object has by itself have no size of their own", async (t) => {
  const { state, sentinel, write } = await place(t);
  write("constructor", "x");
  write("__proto__", "y");
  sentinel({ digest, files: ["constructor", "__proto__"], sizes: { "a.tar": 5 } });
  assert.equal((await state()).kind, "complete");
});
