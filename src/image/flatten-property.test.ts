import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { layersLaidOver, type ModelEntry } from "../../test/image/layer-model.ts";
import { LarderError } from "../errors.ts";
import { Flattening } from "./flatten.ts";

// Few names, so that layers meet; files are called after their place, so that base names do not.
const directory = fc.constantFrom("", "a/", "b/", "a/b/", "b/a/", "a/b/a/");
const entry: fc.Arbitrary<ModelEntry> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(directory, fc.constantFrom("f", "g"))
      .map(([where, name]) => file(where, name)),
  },
  {
    weight: 3,
    arbitrary: directory
      .filter((it) => it !== "")
      .map((it) => ({ path: it.slice(0, -1), kind: "directory" as const })),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom("a", "b", "a/b").map((path) => ({ path, kind: "file" as const })),
  },
  {
    weight: 1,
    arbitrary: directory.map((it) => ({ path: `${it}link`, kind: "symbolic link" as const })),
  },
  {
    weight: 2,
    arbitrary: directory.map((it) => ({ path: `${it}.wh..wh.opq`, kind: "file" as const })),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(directory, fc.constantFrom("a", "b", "link", "f")).map(([where, name]) => ({
      path: `${where}.wh.${name === "f" ? nameAt(where, name) : name}`,
      kind: "file" as const,
    })),
  },
);
const layers = fc.array(fc.array(entry, { maxLength: 6 }), { minLength: 1, maxLength: 4 });

function nameAt(where: string, name: string): string {
  return `${name}-${where.replaceAll("/", "-")}`;
}

function file(where: string, name: string): ModelEntry {
  return { path: where + nameAt(where, name), kind: "file" };
}

/** Where the survivors came from by path, or the refusal. `turns` says whose entry comes next. */
function flatten(
  image: readonly (readonly ModelEntry[])[],
  turns: readonly number[],
): Map<string, string> | string {
  const flattening = new Flattening("the test image");
  const files: { path: string; origin: string }[] = [];
  const next = image.map(() => 0);
  for (const layer of turns) {
    const index = next[layer] ?? 0;
    const added = image[layer]?.[index];
    if (added === undefined) continue;
    next[layer] = index + 1;
    const { path, kind } = added;
    const file = flattening.add(layer, {
      path: Buffer.from(path),
      kind,
      typeflag: "0",
      size: 0,
      linkName: Buffer.alloc(0),
      offset: 0,
    });
    if (file !== undefined) files[file.id] = { path, origin: `${layer}.${index}` };
  }
  try {
    return new Map(
      flattening.survivors().map(({ id }) => {
        const { path, origin } = files[id] ?? assert.fail();
        return [path, origin];
      }),
    );
  } catch (error) {
    assert.ok(error instanceof LarderError);
    return error.message;
  }
}

function oneAfterAnother(image: readonly (readonly ModelEntry[])[]): number[] {
  return image.flatMap((entries, layer) => entries.map(() => layer));
}

function sorted(files: Map<string, string>): [string, string][] {
  return [...files].sort(([a], [b]) => (a < b ? -1 : 1));
}

test("layers are flattened as if they were unpacked one after another into one directory", () => {
  let accepted = 0;
  fc.assert(
    fc.property(layers, (image) => {
      const result = flatten(image, oneAfterAnother(image));
      const expected = layersLaidOver(image);
      if (expected === undefined) return assert.equal(typeof result, "string");
      accepted++;
      if (typeof result === "string") return assert.fail(result);
      assert.deepEqual(sorted(result), sorted(expected));
    }),
    { numRuns: 3000 },
  );
  assert.ok(accepted > 300, `only ${accepted} of the random images were not refused`);
});

test("layers that are read at the same time give the same files, or the same refusal", () => {
  const shuffled = layers.chain((image) =>
    fc.tuple(
      fc.constant(image),
      fc.shuffledSubarray(oneAfterAnother(image), { minLength: oneAfterAnother(image).length }),
    ),
  );
  fc.assert(
    fc.property(shuffled, ([image, turns]) => {
      assert.deepEqual(flatten(image, turns), flatten(image, oneAfterAnother(image)));
    }),
    { numRuns: 1000 },
  );
});
