import assert from "node:assert/strict";
import { test } from "node:test";

import * as fc from "fast-check";

import { refusal } from "../../testbed/refusal.ts";
import { LarderError } from "../errors.ts";
import { parseSavedImages } from "./docker-manifest.ts";

const good = { Config: "a.json", RepoTags: ["app:1"], Layers: ["a/layer.tar"] };

function parse(value: unknown) {
  return parseSavedImages(Buffer.from(JSON.stringify(value)), "app.tar");
}

test("a docker archive's manifest.json names config, tags and layers of each image", () => {
  assert.deepEqual(parse([good]), [{ config: "a.json", tags: ["app:1"], layers: ["a/layer.tar"] }]);
});

test("a docker archive's manifest.json may have null for no tags and no layers", () => {
  const parsed = parse([{ Config: "a.json", RepoTags: null, Layers: null }]);
  assert.deepEqual(parsed, [{ config: "a.json", tags: [], layers: [] }]);
});

test("a docker archive's manifest.json may have more fields than are read", () => {
  assert.equal(parse([{ ...good, LayerSources: { x: {} }, Parent: "b" }]).length, 1);
});

const malformed: [string, unknown, RegExp][] = [
  ["an object", {}, /not a JSON list/],
  ["null", null, /not a JSON list/],
  ["a list of words", ["x"], /image 1 that is not an object/],
  ["an image without config", [{ ...good, Config: undefined }], /names no config for image 1/],
  ["a config that is a number", [good, { ...good, Config: 7 }], /names no config for image 2/],
  ["layers that are no list", [{ ...good, Layers: "a" }], /list of file names/],
  ["a layer that is an object", [{ ...good, Layers: [{}] }], /list of file names/],
  ["a tag that is a number", [{ ...good, RepoTags: [1] }], /list of names/],
  ["too many layers", [{ ...good, Layers: Array.from({ length: 1001 }, String) }], /1000 layers/],
];

for (const [name, value, pattern] of malformed) {
  test(`a docker archive's manifest.json that is malformed is refused: ${name}`, () => {
    assert.throws(() => parse(value), refusal("image", pattern));
  });
}

test("a docker archive's manifest.json that is not JSON is refused without quoting it", () => {
  const bytes = Buffer.from("\u001b[31msecret{");
  assert.throws(
    () => parseSavedImages(bytes, "app.tar"),
    (error: unknown) => {
      assert.ok(error instanceof LarderError);
      assert.doesNotMatch(error.message, /secret/);
      return refusal("image", /not a JSON list/)(error);
    },
  );
});

test("whatever JSON a manifest.json holds, it parses into true types or is refused", () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      try {
        for (const image of parseSavedImages(Buffer.from(json), "app.tar")) {
          assert.equal(typeof image.config, "string");
          assert.ok([...image.tags, ...image.layers].every((each) => typeof each === "string"));
        }
      } catch (error) {
        refusal("image", /manifest\.json/)(error);
      }
    }),
  );
});
