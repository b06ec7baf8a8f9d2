/** What `make generate` makes is checked in, and says what the rest of Larder says. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import {
  defaultCachePath,
  imageCaches,
  labelPrefix,
  longestCachePath,
  longestName,
  longestSource,
} from "../src/api/image-cache.ts";
import { agentOptions } from "../src/cli/agent-options.ts";
import { checkCachePath, isName } from "../src/cache/names.ts";
import { parseReference } from "../src/registry/reference.ts";
import { generate } from "../scripts/generate.ts";
import { sourceOf } from "../scripts/resource-source.ts";
import { root } from "./source-files.ts";

test("src/api is what `make generate` makes of deploy/crds, and nothing else", async () => {
  const generated = await generate();
  const folder = await readdir(join(root, "src/api"));
  assert.deepEqual(
    folder.map((file) => `src/api/${file}`).sort(),
    generated.map(({ path }) => path).sort(),
  );
  for (const { path, content } of generated) {
    assert.equal(await readFile(join(root, path), "utf8"), content, `${path}: run make generate`);
  }
});

test("the agent's default cache path is the resource's", () => {
  const option = agentOptions.find(({ flag }) => flag === "cache-path");
  assert.ok(option !== undefined && "default" in option);
  assert.equal(option.default, defaultCachePath);
});

test("labels are under the resource's group", () => {
  assert.equal(labelPrefix, `${imageCaches.group}/`);
});

test("the limits of the resource are those of the command line", () => {
  assert.ok(isName("n".repeat(longestName)) && !isName("n".repeat(longestName + 1)));
  const path = (length: number) => `/${"p".repeat(length - 1)}`;
  assert.equal(checkCachePath(path(longestCachePath)).length, longestCachePath);
  assert.throws(() => checkCachePath(path(longestCachePath + 1)), { code: "usage" });
  // Neither a repository nor a tag may be so long alone.
  const source = (length: number) =>
    `${"h.".repeat(100)}io/${"r".repeat(200)}:${"t".repeat(length - 404)}`;
  assert.ok(parseReference(source(longestSource)));
  assert.throws(() => parseReference(source(longestSource + 1)), /the limit is 512/);
});

test("a schema becomes the type of what it admits", () => {
  const schema = {
    type: "object",
    properties: {
      spec: {
        type: "object",
        required: ["mode"],
        properties: {
          mode: { type: "string", enum: ["fast", "safe"] },
          sizes: { type: "array", items: { type: "integer" } },
          modes: { type: "array", items: { type: "string", enum: ["a", "b"] } },
          inner: {
            type: "object",
            properties: { on: { type: "boolean", description: "Whether." } },
          },
        },
      },
    },
  };
  const definition = {
    group: "a.example",
    version: "v1",
    plural: "things",
    kind: "Thing",
    namespaced: true,
  };
  const source = sourceOf({ ...definition, schema }, "thing.yaml");
  const expected = `export interface ThingSpec {
  readonly mode: "fast" | "safe";
  readonly sizes?: readonly number[];
  readonly modes?: readonly ("a" | "b")[];
  readonly inner?: {
    /** Whether. */
    readonly on?: boolean;
  };
}`;
  assert.ok(source.includes(expected), source);
  assert.ok(source.includes("export const things = {"), source);
});
