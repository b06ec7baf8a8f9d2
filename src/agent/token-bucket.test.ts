import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { LeapingClock } from "../../test/registry/client.ts";
import { until } from "../../testbed/until.ts";
import { LarderError } from "../errors.ts";
import { systemClock } from "../registry/clock.ts";
import { TokenBucket, type Share } from "./token-bucket.ts";

const never = new AbortController().signal;
const what = "cannot get layer 1 of app";

/** Takes blocks one after the other, as a layer does. */
async function takeAll(
  share: Share,
  blocks: readonly number[],
  onBlock: (bytes: number) => void,
): Promise<void> {
  for (const bytes of blocks) {
    await share.take(bytes, what, never);
    onBlock(bytes);
  }
}

const blocks = (count: number, bytes: number): number[] =>
  Array.from({ length: count }, () => bytes);

test("a pull goes at the rate", async () => {
  const clock = new LeapingClock();
  const bucket = new TokenBucket({ bytesPerSecond: 1_000_000, clock });
  const begun = clock.monotonic();
  await takeAll(bucket.share(), blocks(200, 50_000), () => {});
  assert.ok(Math.abs(clock.monotonic() - begun - 9750) < 1, `${clock.monotonic() - begun} ms`);
});

test("no stretch of time sees more than its rate and a quarter of a second, or one block", async () => {
  const rates = fc.integer({ min: 1, max: 10 ** 9 });
  const step = fc.record({
    share: fc.nat(2),
    bytes: fc.integer({ min: 1, max: 262_144 }),
    idleMs: fc.constantFrom(0, 0, 0, 10, 5000),
  });
  await fc.assert(
    fc.asyncProperty(rates, fc.array(step, { maxLength: 40 }), async (rate, steps) => {
      const clock = new LeapingClock();
      const bucket = new TokenBucket({ bytesPerSecond: rate, clock });
      const shares = [bucket.share(), bucket.share(), bucket.share()];
      const grants: { at: number; bytes: number }[] = [];
      for (const { share, bytes, idleMs } of steps) {
        clock.leap(idleMs);
        await shares[share]!.take(bytes, what, never);
        grants.push({ at: clock.monotonic(), bytes });
      }
      const burst = Math.max(rate / 4, ...steps.map(({ bytes }) => bytes));
      for (const [first, { at: begun }] of grants.entries()) {
        let sum = 0;
        for (const { at, bytes } of grants.slice(first)) {
          sum += bytes;
          const most = (rate * (at - begun)) / 1000 + burst;
          assert.ok(sum <= most + 1 + most * 1e-9, `${sum} bytes where ${most} may go`);
        }
      }
    }),
    { numRuns: 300 },
  );
});

test("pulls get equally much, however many layers each reads at a time, and in blocks of any size", async () => {
  for (const blockOfOne of [5000, 10_000, 30_000]) {
    const clock = new LeapingClock();
    const bucket = new TokenBucket({ bytesPerSecond: 1_000_000, clock });
    const got = { one: 0, three: 0 };
    const [one, three] = [bucket.share(), bucket.share()];
    let atEnd: readonly [number, number] | undefined;
    const end = (): void => {
      atEnd ??= [got.one, got.three];
    };
    await Promise.all([
      takeAll(one, blocks(3_000_000 / blockOfOne, blockOfOne), (n) => (got.one += n)).then(end),
      ...[1, 2, 3].map(() => takeAll(three, blocks(300, 10_000), (n) => (got.three += n))),
    ]);
    assert.deepEqual(got, { one: 3_000_000, three: 9_000_000 });
    const [forOne = 0, forThree = 0] = atEnd ?? [];
    // What piled up before goes to whoever asks: a quarter of a second.
    assert.ok(Math.abs(forOne - forThree) <= 250_000, `${forOne} against ${forThree}`);
  }
});

test("a pull that comes later gets its part at once, and no more than its part", async () => {
  const clock = new LeapingClock();
  const bucket = new TokenBucket({ bytesPerSecond: 1_000_000, clock });
  const order: string[] = [];
  const [early, late] = [bucket.share(), bucket.share()];
  let joined: Promise<void> | undefined;
  await takeAll(early, blocks(200, 50_000), () => {
    order.push("early");
    if (order.length === 100) {
      joined = takeAll(late, blocks(50, 50_000), () => order.push("late"));
    }
  });
  await joined;
  const lates = order.slice(100, 120).filter((who) => who === "late").length;
  assert.ok(lates >= 9 && lates <= 11, `${lates} of 20`);
});

test("waiting ends at once when it is told to, and the others go on", async () => {
  const bucket = new TokenBucket({ bytesPerSecond: 1000, clock: systemClock });
  const share = bucket.share();
  await share.take(250, what, never);
  const stop = new AbortController();
  // 16 minutes at this rate.
  const slow = share.take(1_000_000, what, stop.signal);
  const next = bucket.share().take(50, what, never);
  stop.abort();
  await assert.rejects(slow, (error) => {
    assert.ok(error instanceof LarderError);
    assert.equal(error.code, "interrupted");
    assert.match(error.message, /^cannot get layer 1 of app: it was told to stop/);
    return true;
  });
  await next;
});

test("who is told to stop before the start waits for nothing", async () => {
  const bucket = new TokenBucket({ bytesPerSecond: 1, clock: systemClock });
  const stopped = AbortSignal.abort();
  await assert.rejects(bucket.share().take(1_000_000, what, stopped), { code: "interrupted" });
});

test("no timer is left once nobody waits", async () => {
  const timers = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  const bucket = new TokenBucket({ bytesPerSecond: 1, clock: systemClock });
  const stop = new AbortController();
  const shares = [bucket.share(), bucket.share(), bucket.share()];
  const waits = shares.map((share) => share.take(1_000_000, what, stop.signal));
  // The first goes: its debt is what the others wait for.
  const ends = Promise.allSettled(waits);
  assert.equal(timers(), before + 1);
  stop.abort();
  await ends;
  await until("the timer is gone", () => timers() === before);
});
