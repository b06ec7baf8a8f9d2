import assert from "node:assert/strict";
import { test } from "node:test";

import { claimed, decide, parseLease, released, sight, type Lease } from "./lease.ts";

const date = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
const place = { namespace: "kube-system", name: "larder" };
const leaseMs = 15_000;

function lease(spec: object, resourceVersion = "1"): Lease {
  return parseLease({ metadata: { ...place, uid: "u", resourceVersion }, spec });
}

const held = lease({ holderIdentity: "a", leaseDurationSeconds: 20, leaseTransitions: 4 });

test("what a lease does not say has a meaning, and what makes no sense is left out", () => {
  const { holder, durationMs, transitions } = lease({
    holderIdentity: 3,
    leaseDurationSeconds: -1,
  });
  assert.deepEqual(
    { holder, durationMs, transitions },
    {
      holder: "",
      durationMs: undefined,
      transitions: 0,
    },
  );
  assert.equal(parseLease({ metadata: place }).holder, "");
});

test("a lease that nobody ever saw, or that nobody holds, is free at once", () => {
  assert.equal(decide(sight(undefined, undefined, 5, leaseMs), "b", 5).kind, "take");
  const given = lease({ holderIdentity: "", leaseDurationSeconds: 1 });
  assert.equal(decide(sight(undefined, given, 5, leaseMs), "b", 5).kind, "take");
});

test("another's lease is waited for as long as it says, from when it was seen", () => {
  const seen = sight(undefined, held, 1_000, leaseMs);
  assert.deepEqual(decide(seen, "b", 1_000), { kind: "wait", milliseconds: 20_000 });
  assert.deepEqual(decide(seen, "b", 20_999), { kind: "wait", milliseconds: 1 });
  assert.deepEqual(decide(seen, "b", 21_000), { kind: "take" });
});

test("a lease that does not say how long it lasts lasts as long as one's own", () => {
  const seen = sight(undefined, lease({ holderIdentity: "a" }), 1_000, leaseMs);
  assert.deepEqual(decide(seen, "b", 1_000), { kind: "wait", milliseconds: leaseMs });
});

test("a look that shows the same does not set the wait back, any write does, whatever dates it has", () => {
  const first = sight(undefined, held, 1_000, leaseMs);
  assert.equal(sight(first, lease({ holderIdentity: "a" }, "1"), 9_000, leaseMs), first);
  const renewed = lease({ holderIdentity: "a", leaseDurationSeconds: 20 }, "2");
  assert.equal(sight(first, renewed, 9_000, leaseMs).since, 9_000);
});

test("one's own lease is taken at once", () => {
  assert.equal(decide(sight(undefined, held, 1_000, leaseMs), "a", 1_000).kind, "take");
});

test("a lease that was deleted is waited for like one that is held", () => {
  const gone = sight(sight(undefined, held, 1_000, leaseMs), undefined, 30_000, leaseMs);
  assert.deepEqual(decide(gone, "b", 30_000), { kind: "wait", milliseconds: 20_000 });
  assert.equal(sight(gone, undefined, 40_000, leaseMs), gone);
  // It was free when it was seen last, but who knows who had it since.
  const given = lease({ holderIdentity: "", leaseDurationSeconds: 1 });
  const after = sight(sight(undefined, given, 1_000, leaseMs), undefined, 2_000, leaseMs);
  assert.deepEqual(decide(after, "b", 2_000), { kind: "wait", milliseconds: leaseMs });
});

test("the first claim counts no transition, one that takes over does, a renewal does not", () => {
  const claim = { identity: "b", leaseMs: 14_001, date };
  assert.deepEqual(claimed(undefined, place, claim), {
    metadata: place,
    spec: {
      holderIdentity: "b",
      leaseDurationSeconds: 15,
      acquireTime: "2026-01-02T03:04:05.006000Z",
      renewTime: "2026-01-02T03:04:05.006000Z",
      leaseTransitions: 0,
    },
  });
  const taken = parseLease(claimed(held, place, claim));
  assert.equal(taken.transitions, 5);
  const renewed = claimed(taken, place, { ...claim, date: date + 1 })["spec"];
  assert.deepEqual(renewed, {
    holderIdentity: "b",
    leaseDurationSeconds: 15,
    acquireTime: "2026-01-02T03:04:05.006000Z",
    renewTime: "2026-01-02T03:04:05.007000Z",
    leaseTransitions: 5,
  });
});

test("what others wrote into a lease stays, and so does its resourceVersion", () => {
  const others = parseLease({
    metadata: { ...place, uid: "u", resourceVersion: "7", labels: { team: "x" } },
    spec: { holderIdentity: "a", strategy: "OldestEmulationVersion" },
  });
  for (const object of [
    claimed(others, place, { identity: "b", leaseMs, date }),
    released(others, date),
  ]) {
    assert.deepEqual(object.metadata, others.object.metadata);
    assert.equal(parseLease(object).resourceVersion, "7");
    assert.deepEqual(Object(object["spec"]).strategy, "OldestEmulationVersion");
  }
});

test("a lease that is given back has no holder and lasts no longer than it must", () => {
  assert.deepEqual(released(held, date)["spec"], {
    holderIdentity: "",
    leaseDurationSeconds: 1,
    leaseTransitions: 4,
    renewTime: "2026-01-02T03:04:05.006000Z",
  });
});
