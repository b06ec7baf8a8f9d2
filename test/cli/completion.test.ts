import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";

import { variableOf } from "../../src/cli/option.ts";
import { verbs } from "../../src/cli/verbs.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { larder } from "./larder-process.ts";
import { TmuxTerminal } from "./tmux-terminal.ts";

const run = promisify(execFile);

/** Runs a shell, which must be there: what completes is the shell, not this test. */
async function shell(program: string, words: readonly string[], cwd: string): Promise<string> {
  try {
    return (await run(program, words, { cwd })).stdout;
  } catch (error) {
    throw new Error(`${program} failed; where it is missing: apt-get install ${program}`, {
      cause: error,
    });
  }
}

/** A folder with files to complete, and the script of a shell beside it. */
async function setUp(context: TestContext, name: string) {
  const cwd = await tempDirectory(context);
  const script = join(await tempDirectory(context), `larder.${name}`);
  const { stdout, exitCode } = await larder(["completion", name]);
  assert.equal(exitCode, 0);
  await writeFile(script, stdout);
  await mkdir(join(cwd, "some dir"));
  for (const file of ["a.tar", "b.tar.gz", "c.tgz", "d.tar.zst", "e.txt"]) {
    await writeFile(join(cwd, file), "");
  }
  return { cwd, script };
}

async function bash(context: TestContext) {
  const { cwd, script } = await setUp(context, "bash");
  return async (...words: readonly string[]): Promise<readonly string[]> => {
    const code = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _larder
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const out = await shell(
      "bash",
      ["--norc", "-c", code, "bash", script, "larder", ...words],
      cwd,
    );
    return out
      .split("\n")
      .filter((line) => line !== "")
      .sort();
  };
}

async function fish(context: TestContext) {
  const { cwd, script } = await setUp(context, "fish");
  return async (line: string): Promise<readonly string[]> => {
    const code = `source ${script}; complete -C '${line}'`;
    const out = await shell("fish", ["--no-config", "-c", code], cwd);
    const offers = out.split("\n").map((offer) => offer.split("\t")[0] ?? "");
    return offers.filter((offer) => offer !== "").sort();
  };
}

const archives = ["a.tar", "b.tar.gz", "c.tgz", "d.tar.zst"];
const commands = verbs.map((verb) => verb.name);

test("bash completes commands", async (context) => {
  const complete = await bash(context);
  assert.deepEqual(await complete(""), ["--help", "--version", ...commands].sort());
  assert.deepEqual(await complete("im"), ["import"]);
});

test("bash completes every option of every command", async (context) => {
  const complete = await bash(context);
  for (const { name, options } of verbs) {
    const flags = options.map((spec) => `--${spec.flag}`);
    assert.deepEqual(await complete(name, "-"), [...flags, "--help"].sort(), name);
  }
  assert.deepEqual(await complete("import", "--registry-c"), [
    "--registry-ca",
    "--registry-config",
  ]);
});

test("bash completes the words that an option's value can be, behind a space and behind =", async (context) => {
  const complete = await bash(context);
  assert.deepEqual(await complete("import", "--output", ""), ["json", "text"]);
  assert.deepEqual(await complete("import", "--output", "=", "j"), ["json"]);
  assert.deepEqual(await complete("import", "--output", "="), ["json", "text"]);
});

test("bash completes directories for a cache path and files for a file", async (context) => {
  const complete = await bash(context);
  assert.deepEqual(await complete("import", "--cache-path", ""), ["some dir"]);
  assert.deepEqual(await complete("prepare", ""), ["some dir"]);
  const all = [...archives, "e.txt", "some dir"];
  assert.deepEqual(await complete("import", "--registry-config", ""), all);
});

test("bash completes archives and directories for a source", async (context) => {
  const complete = await bash(context);
  assert.deepEqual(await complete("import", ""), [...archives, "some dir"]);
  assert.deepEqual(await complete("import", "--quiet", "c"), ["c.tgz"]);
});

test("bash offers nothing where nothing can be known", async (context) => {
  const complete = await bash(context);
  assert.deepEqual(await complete("import", "--name", ""), []);
  assert.deepEqual(await complete("verify", ""), []);
});

test("bash completes the words of completion and help", async (context) => {
  const complete = await bash(context);
  assert.deepEqual(await complete("completion", ""), ["bash", "fish", "zsh"]);
  assert.deepEqual(await complete("help", "imp"), ["import"]);
});

test("bash completes interactively, for larder and imagecachectl, names with spaces quoted", async (context) => {
  const { cwd, script } = await setUp(context, "bash");
  const options = { columns: 100, rows: 20, cwd, env: { PS1: "$ " } };
  const terminal = await TmuxTerminal.start(context, ["bash", "--norc", "-i"], options);
  await terminal.type(`source ${script}; clear`, "Enter");
  await terminal.shows(/^\S*\$$/);
  await terminal.type("imagecachectl imp", "Tab", "--cache-p", "Tab", "so", "Tab");
  await terminal.shows(/imagecachectl import --cache-path some\\ dir\//);
  await terminal.type("C-u", "larder verify --output=j", "Tab");
  await terminal.shows(/larder verify --output=json/);
});

test("fish completes commands, for larder and imagecachectl", async (context) => {
  const complete = await fish(context);
  assert.deepEqual(await complete("larder "), [...commands].sort());
  assert.deepEqual(await complete("imagecachectl im"), ["import"]);
});

test("fish completes every option of every command", async (context) => {
  const complete = await fish(context);
  for (const { name, options } of verbs) {
    const flags = options.map((spec) => `--${spec.flag}`);
    assert.deepEqual(await complete(`larder ${name} --`), [...flags, "--help"].sort(), name);
  }
});

test("fish does not take an argument for the command", async (context) => {
  const complete = await fish(context);
  assert.deepEqual(await complete("larder help import --n"), []);
});

test("fish completes the words, files, directories and archives that fit", async (context) => {
  const complete = await fish(context);
  assert.deepEqual(await complete("larder import --output "), ["json", "text"]);
  assert.deepEqual(await complete("larder import --output=j"), ["--output=json"]);
  assert.deepEqual(await complete("larder import --name "), []);
  assert.deepEqual(await complete("larder import --cache-path "), ["some dir/"]);
  assert.deepEqual(await complete("larder import "), [...archives, "some dir/"]);
  assert.deepEqual(await complete("larder import --registry-ca e"), ["e.txt"]);
  assert.deepEqual(await complete("larder completion "), ["bash", "fish", "zsh"]);
});

test("zsh completes commands, options, words, directories and archives", async (context) => {
  const { cwd, script } = await setUp(context, "zsh");
  await shell("zsh", ["-n", script], cwd);
  const options = { columns: 100, rows: 50, cwd };
  const terminal = await TmuxTerminal.start(context, ["zsh", "-f", "-i"], options);
  const ready = "PS1='%% '; autoload -Uz compinit; compinit -u -D";
  await terminal.type(`${ready}; source ${script}; clear`, "Enter");
  await terminal.shows(/^%$/);

  /** Types a line and a tab, waits for what that shows, and clears the line. */
  const shows = async (line: string, pattern: RegExp): Promise<string> => {
    await terminal.type(line, "Tab");
    const screen = await terminal.shows(pattern);
    await terminal.type("C-u", "clear", "Enter");
    await terminal.shows(/^%$/);
    return screen;
  };
  const list = await shows("larder ", /^version /m);
  for (const { name, summary } of verbs)
    assert.match(list, new RegExp(`^${name} +-- ${summary}$`, "m"));
  await shows("imagecachectl imp", /imagecachectl import/);
  await shows("larder import --na", /larder import --name=/);
  await shows("larder import --output=j", /--output=json/);
  await shows("larder verify --output j", /--output json/);
  await shows("larder import --cache-path so", /--cache-path some\\ dir\//);
  const sources = await shows("larder import ", /a\.tar[^]*some\\ dir/);
  for (const name of archives) assert.ok(sources.includes(name), name);
  assert.doesNotMatch(sources, /e\.txt/);
  await shows("larder completion f", /completion fish/);
  const flags = await shows("larder import --", /--source/);
  const specs = verbs.find((verb) => verb.name === "import")?.options ?? [];
  for (const { flag } of specs) assert.match(flags, new RegExp(`^--${flag} `, "m"));
});

test("zsh finds the script in its function path, too", async (context) => {
  const { cwd, script } = await setUp(context, "zsh");
  const functions = await tempDirectory(context);
  await run("cp", [script, join(functions, "_larder")]);
  const options = { columns: 100, rows: 20, cwd };
  const terminal = await TmuxTerminal.start(context, ["zsh", "-f", "-i"], options);
  const ready = `PS1='%% '; fpath=(${functions} $fpath); autoload -Uz compinit; compinit -u -D`;
  await terminal.type(`${ready}; clear`, "Enter");
  await terminal.shows(/^%$/);
  await terminal.type("larder ver", "Tab");
  await terminal.shows(/verify[^]*version/);
});

test("no two options of a command share a variable", () => {
  for (const { options } of verbs) {
    const names = options.map((spec) => variableOf(spec.flag));
    assert.equal(new Set(names).size, names.length);
  }
});
