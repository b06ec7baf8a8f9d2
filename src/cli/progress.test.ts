import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { doneLine, plainLine, progressLines, type LayerProgress } from "./progress.ts";
import { widthOf } from "./width.ts";

const mib = 1024 ** 2;

const layer: LayerProgress = {
  name: "layer 2 of 3",
  read: 50 * mib,
  size: 200 * mib,
  rate: 10 * mib,
  milliseconds: 5000,
};

test("a layer's line has its name, bytes of size, share, rate and time left", () => {
  assert.deepEqual(
    progressLines({ status: undefined, layers: [layer] }, { columns: 80, rows: 24 }),
    ["layer 2 of 3    50.0 MiB of 200.0 MiB   25%    10.0 MiB/s  15s left"],
  );
});

test("on a narrow terminal the least telling parts are left out, the name last", () => {
  const at = (columns: number) =>
    progressLines({ status: undefined, layers: [layer] }, { columns, rows: 24 });
  assert.deepEqual(at(66), ["layer 2 of 3    50.0 MiB of 200.0 MiB    10.0 MiB/s  15s left"]);
  assert.deepEqual(at(50), ["layer 2 of 3    50.0 MiB of 200.0 MiB  15s left"]);
  assert.deepEqual(at(30), ["layer 2 of 3   25%  15s left"]);
  assert.deepEqual(at(20), ["layer 2 of 3   25%"]);
  assert.deepEqual(at(8), ["layer …"]);
});

test("the status stands above the layers", () => {
  const lines = progressLines({ status: "waiting", layers: [layer] }, { columns: 80, rows: 24 });
  assert.equal(lines[0], "waiting");
  assert.equal(lines.length, 2);
});

test("a terminal that reports no size is taken for one of 80 by 24", () => {
  const layers = Array.from({ length: 40 }, () => layer);
  for (const size of [
    { columns: undefined, rows: undefined },
    { columns: 0, rows: 0 },
  ]) {
    const lines = progressLines({ status: undefined, layers }, size);
    assert.equal(lines.length, 23);
    assert.match(lines[0] ?? "", /left$/);
  }
});

test("no line is ever as wide as the terminal, and never are there as many as it has rows", () => {
  const anyLayer = fc.record({
    name: fc.string({ unit: "grapheme", maxLength: 30 }),
    read: fc.nat(),
    size: fc.nat(),
    rate: fc.option(fc.double({ min: 0, max: 1e12, noNaN: true }), { nil: undefined }),
    milliseconds: fc.nat(),
  });
  const view = fc.record({
    status: fc.option(fc.string({ unit: "grapheme" }), { nil: undefined }),
    layers: fc.array(anyLayer, { maxLength: 8 }),
  });
  fc.assert(
    fc.property(
      view,
      fc.integer({ min: 1, max: 120 }),
      fc.integer({ min: 1, max: 10 }),
      (v, c, r) => {
        const lines = progressLines(v, { columns: c, rows: r });
        assert.ok(lines.length < Math.max(r, 1));
        for (const line of lines) assert.ok(widthOf(line) < c, line);
      },
    ),
  );
});

test("a layer that has just begun promises no rate and no time", () => {
  const line = plainLine({ ...layer, read: 0, rate: undefined });
  assert.equal(line, "layer 2 of 3: 0 B of 200.0 MiB, 0%");
});

test("a layer that gets nothing is said to be stalled", () => {
  assert.match(plainLine({ ...layer, rate: 0 }), /0 B\/s, stalled$/);
});

test("a layer that is done says how much it was and how long it took", () => {
  assert.equal(doneLine({ ...layer, read: layer.size }), "layer 2 of 3: done, 200.0 MiB in 5.0s");
});
