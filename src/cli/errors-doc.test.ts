import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { errorCodes } from "../errors.ts";
import { variableOf } from "./option.ts";
import { verbs } from "./verbs.ts";

const importPage = pageOf("import");

/** The codes that only who talks to an API server meets; docs/agent.md has those. */
const codesOfAgent: readonly string[] = ["api"];

function pageOf(name: string): string {
  return readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), "utf8");
}

function section(heading: string, page: string): string {
  const [, text = ""] = page.split(`\n## ${heading}\n`);
  return text.split("\n## ")[0] ?? "";
}

/** The cells of each row of a section's tables. */
function rows(heading: string, page = importPage): readonly (readonly string[])[] {
  const lines = section(heading, page)
    .split("\n")
    .filter((line) => /^\| [`\d]/.test(line));
  return lines.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
}

test("docs/import.md explains every error code, in order, and no other", () => {
  assert.deepEqual(
    rows("Errors").map(([code]) => code),
    errorCodes.filter((code) => !codesOfAgent.includes(code)).map((code) => `\`${code}\``),
  );
});

test("docs/agent.md explains the error codes that only the agent meets", () => {
  const explained = rows("Errors", pageOf("agent")).map(([code = ""]) => code);
  const missing = codesOfAgent.filter((code) => !explained.includes(`\`${code}\``));
  assert.deepEqual(missing, []);
});

test("docs/import.md says of every error code what it means and what to do", () => {
  for (const row of rows("Errors")) {
    assert.equal(row.length, 3);
    assert.ok(
      row.every((cell) => cell.length > 5),
      row.join(" "),
    );
  }
});

for (const [name, heading] of [
  ["import", "Options"],
  ["verify", "`larder verify`"],
] as const) {
  test(`docs/import.md lists every option of ${name} with its variable, in order, and no other`, () => {
    const options = verbs.find((verb) => verb.name === name)?.options ?? [];
    assert.ok(options.length > 0);
    const documented = rows(heading).map(([term = "", variable]) => [
      /^`--([a-z-]+)/.exec(term)?.[1],
      variable,
    ]);
    assert.deepEqual(
      documented,
      options.map(({ flag }) => [flag, `\`${variableOf(flag)}\``]),
    );
  });
}

test("docs/import.md has every exit code", () => {
  assert.deepEqual(
    rows("Exit codes").map(([code]) => code),
    ["0", "1", "2", "129", "130", "143"],
  );
});
