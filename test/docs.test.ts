/** The pages and the plumbing say the same as the code. */
import assert from "node:assert/strict";
import { existsSync, globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { root } from "./source-files.ts";

const pages = globSync(["*.md", "docs/**/*.md"], { cwd: root }).sort();

async function textOf(path: string): Promise<string> {
  return readFile(join(root, path), "utf8");
}

async function makeTargets(): Promise<string[]> {
  const phony = /^\.PHONY: (.*)$/m.exec(await textOf("Makefile"));
  return phony?.[1]?.split(" ") ?? [];
}

/** `<what> in <page>` for everything that `find` finds in a page. */
async function inPages(find: (text: string, page: string) => string[]): Promise<string[]> {
  const found = await Promise.all(
    pages.map(async (page) => find(await textOf(page), page).map((what) => `${what} in ${page}`)),
  );
  return found.flat();
}

/** Debian packages with the targets that need them, as `scripts/apt-packages` lists them. */
async function debianPackages(): Promise<{ name: string; targets: string[]; reason: string }[]> {
  const lines = (await textOf("scripts/apt-packages")).split("\n");
  return lines
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [name = "", targets = "", ...reason] = line.split(/\s+/);
      return { name, targets: targets.split(","), reason: reason.join(" ") };
    });
}

/** The anchors of a page, as the usual renderers make them of its headings. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test("every link between pages leads to a file and a heading that are there", async () => {
  const targets = new Map<string, string>();
  for (const page of pages) targets.set(page, await textOf(page));
  const broken = await inPages((text, page) =>
    [...text.matchAll(/\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)/g)]
      .filter(([, path = "", anchor]) => {
        const target = path === "" ? page : join(dirname(page), path);
        if (!existsSync(join(root, target))) return true;
        return anchor !== undefined && !anchorsOf(targets.get(target) ?? "").includes(anchor);
      })
      .map(([link]) => link),
  );
  assert.deepEqual(broken, []);
});

test("every source file that a page names is there", async () => {
  const files = globSync("{src,test,testbed,bench}/**/*.ts", { cwd: root });
  const unknown = await inPages((text) =>
    [...text.matchAll(/`((?:[\w-]+\/)*[\w.-]+\.ts)`/g)]
      .map(([, name = ""]) => name)
      .filter((name) => !files.some((file) => `/${file}`.endsWith(`/${name}`))),
  );
  assert.deepEqual(unknown, []);
});

test("every make target that a page names is there", async () => {
  const targets = await makeTargets();
  const unknown = await inPages((text) =>
    [...text.matchAll(/(?:`|^|\$ )make ([a-z][a-z-]*)/gm)]
      .map(([, target = ""]) => target)
      .filter((target) => !targets.includes(target)),
  );
  assert.deepEqual(unknown, []);
});

test("`make` alone lists every target", async () => {
  const makefile = await textOf("Makefile");
  const targets = (await makeTargets()).filter((target) => target !== "help");
  assert.deepEqual(
    targets.filter((target) => !makefile.includes(`@echo 'make ${target} `)),
    [],
  );
});

test("the README names the command for the demo and the one for the tests, and CI runs the latter", async () => {
  const readme = await textOf("README.md");
  assert.match(readme, /^make demo /m);
  assert.match(readme, /^make test /m);
  assert.match(await textOf(".ci/run"), /^make test/m);
});

test("every Debian package is listed once, in order, with a target that is there and a reason", async () => {
  const [packages, targets] = [await debianPackages(), await makeTargets()];
  const names = packages.map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)].sort());
  for (const { name, targets: needed, reason } of packages) {
    assert.notEqual(reason, "", `${name} has no reason`);
    const unknown = needed.filter((target) => !targets.includes(target));
    assert.deepEqual(unknown, [], `${name} is for no target`);
  }
});

test("every npm package that the project depends on has its reason in DESIGN.md", async () => {
  const manifest: unknown = JSON.parse(await textOf("package.json"));
  assert.ok(typeof manifest === "object" && manifest !== null);
  const groups = Object.entries(manifest).filter(([key]) => /dependencies$/i.test(key));
  const design = await textOf("DESIGN.md");
  const unnamed = groups
    .flatMap(([, group]) => Object.keys(group as Readonly<Record<string, string>>))
    // Types belong to the package that they describe.
    .filter((name) => !name.startsWith("@types/") && !design.includes(`\`${name}\``));
  assert.deepEqual(unnamed, []);
});

test("DESIGN.md names every file of each part, and none that is not there", async () => {
  const design = await textOf("DESIGN.md");
  for (const folder of ["registry", "image", "cache", "kube", "agent", "telemetry"]) {
    const section = design.split(`\n## ${folder}\n`)[1]?.split("\n## ")[0] ?? "";
    const rows = section.split("\n").filter((line) => line.startsWith("|"));
    const named = rows.join().match(/(?<=`)[a-z-]+\.ts(?=`)/g) ?? [];
    const files = globSync("*.ts", {
      cwd: join(root, "src", folder),
      exclude: ["*.test.ts", "*.d.ts"],
    });
    assert.deepEqual([...new Set(named)].sort(), files.sort(), folder);
  }
});

test("the changelog has a place for what is not released yet", async () => {
  assert.match(await textOf("CHANGELOG.md"), /^## \[Unreleased\]$/m);
});

test("no page names a path that only the writer's machine has", async () => {
  const named = await inPages((text) => text.match(/(?:\/work|\/home\/\w+|\/root)\/\S*/g) ?? []);
  assert.deepEqual(named, []);
});
