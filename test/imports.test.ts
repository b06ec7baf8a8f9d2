/** Who may import whom: the one picture of DESIGN.md, checked. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { importsOf, sourceFiles, type SourceFile } from "./source-files.ts";

const leaves = ["errors", "api", "telemetry"];

/** Folder (or file) of `src` to the others that it may import, besides itself. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  cli: ["agent", "operator", "kube", "cache", "image", "registry", ...leaves],
  agent: ["kube", "cache", "image", "registry", ...leaves],
  operator: ["kube", "cache", "image", "registry", ...leaves],
  kube: ["image", "registry", ...leaves],
  cache: ["image", "registry", ...leaves],
  image: ["registry", ...leaves],
  registry: leaves,
  api: ["errors"],
  telemetry: ["errors"],
  errors: [],
};

/** Besides Node's own modules. What ships has few dependencies, each named in DESIGN.md. */
const packages: Readonly<Record<string, readonly string[]>> = {
  cli: ["commander"],
  kube: ["@kubernetes/client-node"],
  telemetry: [
    "pino",
    // Its parts: the whole takes seven times the memory.
    "@prometheus-io/client/lib/counter.js",
    "@prometheus-io/client/lib/gauge.js",
    "@prometheus-io/client/lib/histogram.js",
    "@prometheus-io/client/lib/registry.js",
  ],
};
const testPackages = ["fast-check", "tar-stream", "yaml"];

function partOf(path: string): string {
  return path.split("/")[1]?.replace(/\.ts$/, "") ?? "";
}

/** Every chain of imports that comes back to where it began, as `a -> b -> a`. */
function cycles(files: readonly SourceFile[]): string[] {
  const edges = new Map(files.map((file) => [file.path, file.files]));
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) found.push([...trail.slice(at), path].join(" -> "));
    if (at >= 0 || done.has(path)) return;
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const file of files) visit(file.path, []);
  return found;
}

test("imports point one way: cli -> agent, operator -> kube, cache -> image -> registry", async () => {
  const files = (await sourceFiles("src")).filter((file) => !file.isTest);
  const wrong = files.flatMap(({ path, files: imported }) => {
    const part = partOf(path);
    const allowed = mayImport[part] ?? [];
    return imported
      .filter(
        (target) => !target.startsWith("src/") || ![part, ...allowed].includes(partOf(target)),
      )
      .filter((target) => target !== "package.json" || part !== "cli")
      .map((target) => `${path} imports ${target}`);
  });
  assert.deepEqual(wrong, []);
});

test("every folder of src has its place in the import direction", async () => {
  const parts = new Set((await sourceFiles("src")).map((file) => partOf(file.path)));
  assert.deepEqual(
    [...parts].filter((part) => !Object.hasOwn(mayImport, part)),
    [],
  );
});

test("no file imports itself through others", async () => {
  assert.deepEqual(cycles(await sourceFiles("src", "testbed", "test", "bench")), []);
});

test("what ships imports Node's modules and the packages named for its folder, nothing else", async () => {
  const files = (await sourceFiles("src")).filter((file) => !file.isTest);
  const wrong = files.flatMap(({ path, packages: imported }) =>
    imported
      .filter((name) => !name.startsWith("node:"))
      .filter((name) => !packages[partOf(path)]?.includes(name))
      .map((name) => `${path} imports ${name}`),
  );
  assert.deepEqual(wrong, []);
});

test("tests, testbed and bench import Node's modules and the packages named for tests, nothing else", async () => {
  const files = await sourceFiles("src", "test", "testbed", "bench");
  const wrong = files
    .filter((file) => file.isTest || !file.path.startsWith("src/"))
    .flatMap(({ path, packages: imported }) =>
      imported
        .filter((name) => !name.startsWith("node:") && !testPackages.includes(name))
        .filter((name) => !packages[partOf(path)]?.includes(name))
        .map((name) => `${path} imports ${name}`),
    );
  assert.deepEqual(wrong, []);
});

test("the reader of imports sees every form that the formatter writes", () => {
  const source = [
    'import { a } from "./a.ts";',
    "import {",
    "  b,",
    "  type C,",
    '} from "./b.ts";',
    'import type { D } from "./d.ts";',
    'import "./side.ts";',
    'export { e } from "./e.ts";',
    'export * from "./f.ts";',
    '  const g = await import("./g.ts");',
    "const text = \"import x from './not.ts'\";",
  ].join("\n");
  assert.deepEqual(importsOf(source), [
    "./a.ts",
    "./b.ts",
    "./d.ts",
    "./side.ts",
    "./e.ts",
    "./f.ts",
    "./g.ts",
  ]);
});

test("the finder of cycles finds one", () => {
  const file = (path: string, ...files: string[]): SourceFile => ({
    path,
    files,
    isTest: false,
    packages: [],
  });
  assert.deepEqual(cycles([file("a", "b"), file("b", "c", "a"), file("c")]), ["a -> b -> a"]);
});
