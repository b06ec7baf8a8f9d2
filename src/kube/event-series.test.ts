import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import type { EventInput } from "./event-object.ts";
import { SeriesBook, seriesLimits, type Moment } from "./event-series.ts";

const limits = { ...seriesLimits, mostSeries: 4 };
const minute = 60_000;

function at(milliseconds: number): Moment {
  return { at: milliseconds, date: Date.UTC(2026, 0, 1) + milliseconds };
}

function input(name: string, note = "it failed"): EventInput {
  const regarding = { apiVersion: "test/v1", kind: "ImageCache", name, uid: `uid-of-${name}` };
  return { regarding, type: "Warning", reason: "SyncFailed", action: "Pull", note };
}

/** Tells the cluster everything. */
function tellAll(book: SeriesBook, now: Moment): void {
  for (const series of book.untold()) book.succeeded(series, series.count, now);
}

test("what was told longest ago gives way to what is new", () => {
  const book = new SeriesBook(limits);
  for (const [index, name] of ["a", "b", "c", "d"].entries()) book.observe(input(name), at(index));
  tellAll(book, at(10));
  book.observe(input("a"), at(20));
  tellAll(book, at(21));
  assert.equal(book.observe(input("e"), at(30)), 0);
  assert.equal(book.size, 4);
  // "b" went: it begins anew. "a" did not.
  tellAll(book, at(31));
  book.observe(input("a"), at(40));
  assert.equal(book.next()?.series.count, 3);
});

test("where everything waits to be told, what is new is given up", () => {
  const book = new SeriesBook(limits);
  for (const name of ["a", "b", "c", "d"]) book.observe(input(name), at(0));
  assert.equal(book.observe(input("e"), at(1)), 1);
  assert.equal(book.observe(input("a"), at(2)), 0);
  assert.equal(book.size, 4);
});

test("what is not told comes before repeats", () => {
  const book = new SeriesBook(limits);
  book.observe(input("a"), at(0));
  tellAll(book, at(0));
  book.observe(input("a"), at(1));
  book.observe(input("b"), at(2));
  assert.equal(book.next()?.series.input.regarding.name, "b");
});

test("an untold series of which five minutes were heard nothing is given up as a whole", () => {
  const book = new SeriesBook(limits);
  book.observe(input("a"), at(0));
  book.observe(input("a"), at(minute));
  assert.equal(book.forget(at(6 * minute)), 0);
  assert.equal(book.forget(at(6 * minute + 1)), 2);
  assert.equal(book.size, 0);
});

test("a series that has ended and is told is forgotten", () => {
  const book = new SeriesBook(limits);
  book.observe(input("a"), at(0));
  tellAll(book, at(0));
  assert.equal(book.forget(at(6 * minute)), 0);
  assert.equal(book.size, 1);
  assert.equal(book.forget(at(6 * minute + 1)), 0);
  assert.equal(book.size, 0);
});

test("no more is remembered than allowed, whatever happens, and nothing is lost uncounted", () => {
  const happening = fc.record({
    pauseMs: fc.constantFrom(0, 1, minute, 7 * minute, 20 * minute),
    name: fc.constantFrom("a", "b", "c", "d", "e", "f"),
    note: fc.constantFrom("1", "2", "3", "4", "5"),
    tells: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 80 }), (happenings) => {
      const book = new SeriesBook(limits);
      let now = 0;
      let given = 0;
      let told = 0;
      for (const { pauseMs, name, note, tells } of happenings) {
        now += pauseMs;
        given += book.observe(input(name, note), at(now));
        assert.ok(book.size <= limits.mostSeries);
        const next = tells ? book.next()?.series : undefined;
        if (next === undefined) continue;
        told += next.count - next.told;
        book.succeeded(next, next.count, at(now));
      }
      const waiting = book.untold().reduce((sum, { count, told: known }) => sum + count - known, 0);
      assert.equal(given + told + waiting, happenings.length);
    }),
  );
});
