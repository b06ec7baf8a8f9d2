import assert from "node:assert/strict";
import { test } from "node:test";

import { RecordingShell } from "../../test/cli/recording-shell.ts";
import { readCommandLine } from "./command-line.ts";
import { variableOf } from "./option.ts";
import { verb, type Verb } from "./verb.ts";
import { verbs } from "./verbs.ts";
import { version } from "./version.ts";

function message(words: readonly string[], environment: NodeJS.ProcessEnv = {}): string {
  try {
    readCommandLine(words, verbs, environment);
  } catch (error) {
    assert.ok(error instanceof Error && "code" in error && error.code === "usage", String(error));
    return error.message;
  }
  return assert.fail("it was accepted");
}

async function printed(words: readonly string[], columns?: number): Promise<string> {
  const shell = new RecordingShell();
  shell.out.columns = columns;
  assert.equal(await readCommandLine(words, verbs, {})(shell), 0);
  return shell.out.text;
}

test("an unknown option is a usage error that suggests the nearest one", () => {
  assert.equal(
    message(["import", "--nmae", "boot", "x"]),
    "unknown option '--nmae': did you mean --name?: run 'larder help import'",
  );
});

test("an unknown option with nothing near it is a usage error", () => {
  assert.equal(
    message(["verify", "--zzzzzz"]),
    "unknown option '--zzzzzz': larder verify has no such option: run 'larder help verify'",
  );
});

test("an unknown command is a usage error that suggests the nearest one", () => {
  assert.equal(
    message(["imprt"]),
    "unknown command 'imprt': did you mean import?: run 'larder help'",
  );
  assert.equal(
    message(["zzzzzz"]),
    "unknown command 'zzzzzz': larder has no such command: run 'larder help'",
  );
});

test("no command at all is a usage error that lists the commands", () => {
  assert.equal(
    message([]),
    "no command: it must be one of import, verify, prepare, agent, completion, version, help: run 'larder help'",
  );
});

test("an option without its value is a usage error", () => {
  assert.equal(
    message(["import", "--name"]),
    "option '--name <resource>' argument missing: a value must follow it: run 'larder help import'",
  );
});

test("a missing source is a usage error", () => {
  assert.equal(
    message(["import", "--name", "boot"]),
    "<source> is missing: import needs it: run 'larder help import'",
  );
});

test("a missing --name is a usage error", () => {
  assert.match(message(["import", "x"]), /^--name <resource> is missing: /);
});

test("two sources are a usage error that names both", () => {
  assert.equal(
    message(["import", "--name", "boot", "a", "b"]),
    "2 arguments: import takes one, not 'a', 'b': run 'larder help import'",
  );
});

test("an argument where none is taken is a usage error", () => {
  assert.equal(
    message(["verify", "boot"]),
    "'boot' is too much: verify takes options only: run 'larder help verify'",
  );
});

test("an empty source is a usage error", () => {
  assert.match(message(["import", "--name", "boot", ""]), /^<source> is empty: /);
});

test("an unknown shell for completion is a usage error that lists the shells", () => {
  assert.equal(
    message(["completion", "tcsh"]),
    "shell 'tcsh' is unknown: it must be one of bash, zsh, fish: run 'larder help completion'",
  );
});

test("an option's value that is another option is told from that option", () => {
  assert.match(message(["import", "x", "--name", "--quiet"]), /^--name has no value: /);
});

test("--help, -h and help <command> print the same text, for help itself as well", async () => {
  for (const { name } of verbs) {
    const text = await printed(["help", name], 80);
    assert.equal(await printed([name, "--help"], 80), text);
    assert.equal(await printed([name, "-h"], 80), text);
  }
  assert.equal(await printed(["--help"]), await printed(["help"]));
});

test("--version prints Larder's version alone", async () => {
  assert.equal(await printed(["--version"]), `${version}\n`);
});

test("--help documents every option with its default and its variable", async () => {
  for (const { name, options } of verbs) {
    const text = (await printed([name, "--help"], 100)).replaceAll(/\s+/g, " ");
    for (const spec of options) {
      assert.ok(text.includes(`--${spec.flag}`), spec.flag);
      const pattern = new RegExp(`(default: |required)[^()]*; ${variableOf(spec.flag)}\\)`);
      assert.match(text, pattern);
    }
  }
});

test("help lists every command", async () => {
  const text = await printed(["help"]);
  for (const { name } of verbs) assert.match(text, new RegExp(`^  ${name} `, "m"));
});

test("help is never wider than the terminal, its example lines apart", async () => {
  for (const { name } of verbs) {
    const [text = ""] = (await printed([name, "--help"], 64)).split("Examples:");
    const tooWide = text.split("\n").filter((line) => line.length > 64);
    assert.deepEqual(
      tooWide.filter((line) => line.includes("  ")),
      [],
    );
  }
});

/** A verb that keeps what it was given. */
function spy(): { verb: Verb; seen: unknown[] } {
  const seen: unknown[] = [];
  const made = verb({
    name: "try",
    summary: "s",
    details: "d",
    examples: [],
    operand: { name: "thing", count: "several", completion: "file", about: "Things" },
    options: [
      { kind: "switch", flag: "force", about: "F" },
      { kind: "value", flag: "name", placeholder: "n", completion: "nothing", about: "N" },
      { kind: "list", flag: "host", placeholder: "h", completion: "nothing", about: "H" },
    ],
    run: async (given, operands) => {
      seen.push(given, operands);
      return 0;
    },
  });
  return { verb: made, seen };
}

async function seenOf(words: readonly string[], environment: NodeJS.ProcessEnv = {}) {
  const { verb: made, seen } = spy();
  await readCommandLine(["try", ...words], [made], environment)(new RecordingShell());
  return seen;
}

test("options may stand before, between and behind the arguments, with a space or =", async () => {
  assert.deepEqual(await seenOf(["--force", "a", "--name=x", "b", "--host", "h", "--host=i"]), [
    { force: true, name: "x", host: ["h", "i"] },
    ["a", "b"],
  ]);
});

test("what follows -- is an argument, even with dashes", async () => {
  assert.deepEqual(await seenOf(["--", "--force"]), [
    { force: false, name: undefined, host: [] },
    ["--force"],
  ]);
});

test("--no-<switch> turns off what the variable turned on", async () => {
  const environment = { LARDER_FORCE: "true" };
  assert.deepEqual((await seenOf(["--no-force", "a"], environment))[0], {
    force: false,
    name: undefined,
    host: [],
  });
});
