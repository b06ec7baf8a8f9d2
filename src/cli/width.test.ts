import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { truncate, widthOf } from "./width.ts";

test("wide characters take two cells, combining marks none", () => {
  assert.equal(widthOf("layer"), 5);
  assert.equal(widthOf("ü"), 1);
  assert.equal(widthOf("u\u0308"), 1);
  assert.equal(widthOf("画像"), 4);
  assert.equal(widthOf("한글"), 4);
  assert.equal(widthOf("🙂"), 2);
  assert.equal(widthOf("𠀀"), 2);
});

test("a text that fits is left as it is", () => {
  assert.equal(truncate("layer", 5), "layer");
});

test("a text that does not fit ends in an ellipsis", () => {
  assert.equal(truncate("layer 1", 5), "laye…");
  assert.equal(truncate("layer", 0), "");
});

test("a wide character is never cut in half", () => {
  assert.equal(truncate("画像画像", 4), "画…");
  assert.equal(truncate("画像画像", 5), "画像…");
});

test("a truncated text is never wider than asked for", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(40), (text, cells) => {
      assert.ok(widthOf(truncate(text, cells)) <= cells);
    }),
  );
});
