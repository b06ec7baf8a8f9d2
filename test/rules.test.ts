/** docs/rules.md names the test of every rule; here it is seen that the tests are there. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { root } from "./source-files.ts";
import { testNames } from "./test-names.ts";

const page = readFileSync(join(root, "docs/rules.md"), "utf8");
const [built = "", later = ""] = page.split(/^## Not built yet$/m);

interface Rule {
  readonly text: string;
  readonly tests: readonly { readonly file: string; readonly name: string }[];
}

/** A rule is an item of a list; its tests are the items below it: a file, and a name as code. */
function rulesOf(text: string): Rule[] {
  return text
    .split(/^- /m)
    .slice(1)
    .map((item) => {
      const [rule = "", ...lines] = item.split(/\n#/, 1).join("").split("\n");
      const tests = lines
        .filter((line) => line.trim() !== "")
        .map((line) => {
          const [, file, , name] = /^ {2}- (\S+\.ts): (`+) ?(.+?) ?\2$/.exec(line) ?? [];
          if (file === undefined || name === undefined) {
            throw new Error(`docs/rules.md has a line that is no test: ${line}`);
          }
          return { file, name };
        });
      return { text: rule, tests };
    });
}

const rules = rulesOf(built);

test("every rule of docs/rules.md has a test that shows it", () => {
  assert.ok(rules.length > 100, `${rules.length} rules`);
  const without = rules.filter(({ tests }) => tests.length === 0).map(({ text }) => text);
  assert.deepEqual(without, []);
});

test("every test that docs/rules.md names is in the file that it names", () => {
  const known = new Map<string, ReadonlySet<string>>();
  const namesIn = (file: string): ReadonlySet<string> => {
    const path = join(root, file);
    const names = existsSync(path) ? testNames(readFileSync(path, "utf8")) : new Set<string>();
    known.set(file, names);
    return names;
  };
  const missing = rules
    .flatMap(({ tests }) => tests)
    .filter(({ file, name }) => !(known.get(file) ?? namesIn(file)).has(name))
    .map(({ file, name }) => `${file}: ${name}`);
  assert.deepEqual(missing, []);
});

test("docs/rules.md has every rule once, and no test twice for one rule", () => {
  const sections = built.split(/^## /m).slice(1);
  for (const section of sections) {
    const texts = rulesOf(section).map(({ text }) => text);
    assert.deepEqual(texts, [...new Set(texts)]);
  }
  for (const { text, tests } of rules) {
    const names = tests.map(({ file, name }) => `${file}: ${name}`);
    assert.deepEqual(names, [...new Set(names)], text);
  }
});

test("what is not built yet is listed apart, and names no test", () => {
  const waiting = rulesOf(later);
  assert.ok(waiting.length > 0);
  const shown = waiting.filter(({ tests }) => tests.length > 0).map(({ text }) => text);
  assert.deepEqual(shown, []);
});

test("the reader of test names sees suites, templates, wrapped titles and tables", () => {
  const source = [
    'test("plain", () => {});',
    'suite("outer", () => {',
    "  for (const x of y) {",
    '    test(`of ${x ? "a" : `b${x}`} and more`, () => {});',
    "  }",
    "  it(",
    '    "wrapped",',
    "    () => {},",
    "  );",
    "  const table = [",
    '    ["a row", 1],',
    "    [",
    '      "a wrapped row",',
    "    ],",
    "  ];",
    "  for (const [rule] of table) it(rule, () => {});",
    "  it(rule, () => {});",
    "});",
    'test("after", () => {});',
  ].join("\n");
  assert.deepEqual(
    [...testNames(source)],
    [
      "plain",
      "outer",
      'outer > of ${x ? "a" : `b${x}`} and more',
      "outer > wrapped",
      "outer > a row",
      "outer > a wrapped row",
      "after",
    ],
  );
});
