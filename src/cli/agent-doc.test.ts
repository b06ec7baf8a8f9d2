import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { RecordingShell } from "../../test/cli/recording-shell.ts";
import { agentOptions } from "./agent-options.ts";
import { readCommandLine } from "./command-line.ts";
import { termOf, variableOf, type OptionSpec } from "./option.ts";
import { verbs } from "./verbs.ts";

const page = readFileSync(new URL("../../docs/agent.md", import.meta.url), "utf8");
const options: readonly OptionSpec[] = agentOptions;

/** The cells of the rows of the page's table of flags. */
function flagRows(): readonly (readonly string[])[] {
  const section = page.split("\n## Flags\n")[1]?.split("\n## ")[0] ?? "";
  return section
    .split("\n")
    .filter((line) => line.startsWith("| `--"))
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|")));
}

test("docs/agent.md lists every option of agent with its value and variable, in order, and no other", () => {
  assert.deepEqual(
    flagRows().map(([, term, variable]) => [term, variable]),
    options.map((spec) => [`\`${termOf(spec)}\``, `\`${variableOf(spec.flag)}\``]),
  );
});

test("docs/agent.md has the default of every option that has one", () => {
  const defaults = new Map(flagRows().map(([, term, , given]) => [term, given]));
  for (const spec of options) {
    if (spec.kind !== "value" || spec.default === undefined) continue;
    assert.equal(defaults.get(`\`${termOf(spec)}\``), `\`${spec.default}\``);
  }
});

for (const words of [
  ["agent", "--help"],
  ["help", "agent"],
]) {
  test(`larder ${words.join(" ")} documents every option, its default and its variable`, async () => {
    const shell = new RecordingShell();
    assert.equal(await readCommandLine(words, verbs, {})(shell), 0);
    const text = shell.out.text.replace(/\s+/g, " ");
    for (const spec of options) {
      assert.ok(text.includes(termOf(spec)), termOf(spec));
      assert.ok(text.includes(`; ${variableOf(spec.flag)})`), variableOf(spec.flag));
      assert.ok(text.includes(spec.about), spec.about);
      if (spec.kind === "value" && spec.default !== undefined) {
        assert.ok(text.includes(`(default: ${spec.default}; ${variableOf(spec.flag)})`), spec.flag);
      }
    }
    assert.match(text, /NODE_NAME/);
    assert.match(text, /; 0 turns it off \(default: 1h; LARDER_RESYNC_PERIOD\)/);
  });
}
