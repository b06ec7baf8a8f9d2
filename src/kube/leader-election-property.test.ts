/** Candidates with bent clocks and bad networks: never two at once, and one in the end. */
import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { Electorate } from "../../test/kube/electorate.ts";
import type { Bend, Fate } from "../../test/kube/simulated-leases.ts";

// A leader has 10 s of its clock, a candidate waits for 15 s of its own, and 2 s go to coming to an
// end: with rates from 0.9 to 1.1 that is 11.1 + 2 against 13.6 s of true time.
const bend: fc.Arbitrary<Bend> = fc.record({
  rate: fc.constantFrom(0.9, 0.95, 1, 1.05, 1.1),
  monotonicOffset: fc.integer({ min: 0, max: 1e9 }),
  dateOffset: fc.integer({ min: -1e11, max: 1e11 }),
  frozenDate: fc.boolean(),
});

const candidate = fc.record({ bend, windDownMs: fc.constantFrom<number>(0, 0, 500, 2_000) });

/** What happens to one candidate after a while. */
const happening = fc.record({
  afterMs: fc.constantFrom(100, 1_000, 3_000, 9_000, 11_000, 14_000, 20_000),
  who: fc.nat({ max: 2 }),
  what: fc.constantFrom("cut", "cut", "heal", "bad", "bad", "good", "stop"),
});

const seed = fc.integer({ min: 1, max: 2 ** 31 - 1 });
const plan = fc.record({
  candidates: fc.array(candidate, { minLength: 2, maxLength: 3 }),
  happenings: fc.array(happening, { maxLength: 12 }),
  seed,
});
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

const outcomes = ["answered", "answered", "refused", "done, refused", "unanswered"] as const;

/** What a bad network and a bad server do; requests may arrive long after they were given up. */
function badFate(random: () => number): Fate {
  const pick = <T>(list: readonly [T, ...T[]]): T =>
    list[Math.floor(random() * list.length)] ?? list[0];
  return {
    there: pick([1, 40, 900, 2_500, 6_000]),
    back: pick([1, 40, 900, 2_500]),
    outcome: pick(outcomes),
  };
}

/** Numbers from 0 up to 1 that depend on the seed alone (a linear congruence: enough for tests). */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** Plays a plan; the electorate itself fails where two are at work at once. */
async function play({ candidates, happenings, seed: from }: Plan): Promise<Electorate> {
  const electorate = new Electorate();
  const random = numbersFrom(from);
  const bad = new Set<number>();
  for (const [index, given] of candidates.entries()) {
    electorate.add({
      ...given,
      random,
      fate: () => (bad.has(index) ? badFate(random) : { there: 1, back: 1, outcome: "answered" }),
    });
  }
  for (const { afterMs, who, what } of happenings) {
    await electorate.pass(afterMs);
    const one = electorate.candidates[who];
    if (one === undefined) continue;
    if (what === "cut" || what === "heal") one.link.cut = what === "cut";
    else if (what === "bad") bad.add(who);
    else if (what === "good") bad.delete(who);
    // One always stays.
    else if (who > 0) one.end();
    assert.ok(electorate.leaders.length <= 1);
  }
  bad.clear();
  for (const { link } of electorate.candidates) link.cut = false;
  return electorate;
}

test("two never lead at once, and once the network is well again one leads", async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (given) => {
      const electorate = await play(given);
      await electorate.pass(40_000);
      assert.equal(electorate.leaders.length, 1);
      await electorate.stop();
    }),
    { numRuns: 120 },
  );
});

test("a leader is told to stop before the lease can be another's", async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (given) => {
      const electorate = await play({
        ...given,
        // The longest that the limits leave for coming to an end.
        candidates: given.candidates.map((each) => ({ ...each, windDownMs: 2_400 })),
      });
      await electorate.pass(40_000);
      assert.equal(electorate.leaders.length, 1);
      await electorate.stop();
    }),
    { numRuns: 60 },
  );
});

test("with a network that is well, the first leader stays for as long as it lives", async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (given) => {
      const electorate = await play({ ...given, happenings: [] });
      await electorate.pass(120_000);
      const terms = electorate.candidates.flatMap((each) => each.terms);
      assert.equal(terms.length, 1);
      assert.ok(terms[0]!.from < 2_000);
      await electorate.stop();
    }),
    { numRuns: 20 },
  );
});
