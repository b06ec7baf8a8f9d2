/** The testbed's own promises: what it keeps between runs is whole, and built from what is there. */
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { cached } from "../testbed/cache-folder.ts";
import { runCommand } from "../testbed/command.ts";
import { crane } from "../testbed/crane.ts";
import { importsOf } from "../testbed/go-tools.ts";
import { newEnough } from "../testbed/go.ts";
import { tempDirectory } from "../testbed/temp-directory.ts";

async function ownCacheFolder(t: TestContext): Promise<string> {
  const before = process.env["LARDER_TESTBED"];
  const dir = await tempDirectory(t);
  process.env["LARDER_TESTBED"] = dir;
  t.after(() => {
    if (before === undefined) delete process.env["LARDER_TESTBED"];
    else process.env["LARDER_TESTBED"] = before;
  });
  return dir;
}

test("what is cached is made once", async (t) => {
  await ownCacheFolder(t);
  let made = 0;
  const make = async (dir: string): Promise<void> => {
    made++;
    await writeFile(join(dir, "file"), "content");
  };
  const folder = await cached("group/thing-1", make);
  assert.equal(await cached("group/thing-1", make), folder);
  assert.equal(await readFile(join(folder, "file"), "utf8"), "content");
  assert.equal(made, 1);
});

test("what could not be made leaves nothing behind and is made the next time", async (t) => {
  const dir = await ownCacheFolder(t);
  const broken = cached("thing", () => Promise.reject(new Error("no network")));
  await assert.rejects(broken, /no network/);
  assert.deepEqual(await readdir(dir), []);
  await cached("thing", (made) => writeFile(join(made, "file"), ""));
  assert.deepEqual(await readdir(dir), ["thing"]);
});

test("two that make the same at once both get a whole one", async (t) => {
  const dir = await ownCacheFolder(t);
  const make = (made: string): Promise<void> => writeFile(join(made, "file"), "content");
  const folders = await Promise.all([cached("thing", make), cached("thing", make)]);
  assert.deepEqual(folders, [join(dir, "thing"), join(dir, "thing")]);
  assert.deepEqual(await readdir(dir), ["thing"]);
});

test("a program that fails is named with what it said", async () => {
  const failing = runCommand("sh", ["-c", "echo the disk is on fire >&2; exit 3"]);
  await assert.rejects(failing, /^Error: sh -c .* ended with 3: the disk is on fire$/);
});

test("Go 1.26 and newer builds the testbed's modules, older and unknown ones do not", () => {
  const versions = ["go1.26", "go1.26.8", "go1.30rc1", "go2.0", "go1.25.9", "go1.9", "none", ""];
  assert.deepEqual(versions.map(newEnough), [true, true, true, true, false, false, false, false]);
});

test("the commands of a Go module are those that its tools.go imports", () => {
  const source = [
    "package tools",
    'import _ "example.com/one/cmd/a"',
    "import (",
    '\t_ "example.com/two/cmd/b"',
    '\t"fmt"',
    ")",
  ].join("\n");
  assert.deepEqual(importsOf(source), ["example.com/one/cmd/a", "example.com/two/cmd/b"]);
});

test("crane is built from its module and runs", async () => {
  const { stdout } = await runCommand(await crane(), ["--help"]);
  assert.match(stdout, /^Crane is a tool for managing container images/);
});
