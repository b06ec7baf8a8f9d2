import assert from "node:assert/strict";
import { test } from "node:test";

import { Electorate, untilStopped } from "../../test/kube/electorate.ts";
import { straight, type Fate } from "../../test/kube/simulated-leases.ts";
import { LeaderElection } from "./leader-election.ts";

const unanswered: Fate = { there: 1, back: 1, outcome: "unanswered" };

test("one alone leads at once, renews, and gives the lease back in the end", async () => {
  const electorate = new Electorate();
  const { leases } = electorate;
  const one = electorate.add();
  await electorate.pass(100);
  assert.ok(one.leads() && one.election.leading);
  assert.equal(leases.spec["holderIdentity"], one.election.identity);
  assert.match(one.election.identity, /^candidate-0_[0-9a-f-]{36}$/);
  const renewed = leases.spec["renewTime"];
  await electorate.pass(60_000);
  assert.notEqual(leases.spec["renewTime"], renewed);
  assert.equal(one.terms.length, 1);
  await electorate.stop();
  assert.equal(leases.spec["holderIdentity"], "");
  assert.equal(one.election.leading, false);
});

test("of three, one leads, and another takes over within two seconds when it stops", async () => {
  const electorate = new Electorate();
  for (const _ of "abc") electorate.add();
  await electorate.pass(30_000);
  const [leader] = electorate.leaders;
  assert.equal(electorate.leaders.length, 1);
  leader?.end();
  await electorate.pass(2_000);
  const [next] = electorate.leaders;
  assert.equal(electorate.leaders.length, 1);
  assert.notEqual(next, leader);
  assert.equal(electorate.leases.spec["leaseTransitions"], 1);
  await leader?.run;
  await electorate.stop();
});

test("work that takes its time to stop keeps the lease until it has stopped", async () => {
  const electorate = new Electorate();
  const one = electorate.add({ windDownMs: 40_000 });
  await electorate.pass(100);
  const other = electorate.add();
  await electorate.pass(100);
  one.end();
  await electorate.pass(39_000);
  assert.equal(one.leads(), false);
  assert.equal(one.election.leading, false);
  assert.equal(other.leads(), false);
  await electorate.pass(3_000);
  assert.ok(other.leads());
  await electorate.stop();
});

test("a leader that is cut off stops before another one begins", async () => {
  const electorate = new Electorate();
  const one = electorate.add();
  await electorate.pass(100);
  const other = electorate.add();
  await electorate.pass(10_000);
  one.link.cut = true;
  await electorate.pass(10_001);
  assert.equal(one.leads(), false);
  assert.equal(one.election.leading, false);
  assert.equal(other.leads(), false);
  assert.match(String(one.terms[0]?.signal.reason), /could not be renewed in time/);
  await electorate.pass(10_000);
  assert.ok(other.leads());
  one.link.cut = false;
  await electorate.pass(60_000);
  assert.deepEqual(electorate.leaders, [other]);
  await electorate.stop();
});

test("a leader counts its time from before the request that took the lease", async () => {
  const electorate = new Electorate();
  const one = electorate.add({ fate: () => ({ there: 1, back: 1_900, outcome: "answered" }) });
  // It looked until 1,901 ms, asked then, and had its answer at 3,802 ms.
  await electorate.pass(3_900);
  assert.ok(one.leads());
  one.link.cut = true;
  await electorate.pass(8_000);
  assert.ok(one.leads());
  await electorate.pass(2);
  assert.equal(one.leads(), false);
  await electorate.stop();
});

test("a leader that was cut off and is alone leads again when it is back", async () => {
  const electorate = new Electorate();
  const one = electorate.add();
  await electorate.pass(100);
  one.link.cut = true;
  await electorate.pass(60_000);
  assert.equal(one.leads(), false);
  one.link.cut = false;
  await electorate.pass(3_000);
  assert.equal(one.terms.length, 2);
  assert.ok(one.leads());
  await electorate.stop();
});

test("a short outage ends no term", async () => {
  const electorate = new Electorate();
  const one = electorate.add();
  await electorate.pass(100);
  for (const _ of "abcde") {
    one.link.cut = true;
    await electorate.pass(5_000);
    one.link.cut = false;
    await electorate.pass(5_000);
  }
  assert.equal(one.terms.length, 1);
  assert.ok(one.leads());
  assert.ok(one.errors.length > 0);
  await electorate.stop();
});

test("a lease that somebody else wrote into is no longer one's own, at the next renewal", async () => {
  const electorate = new Electorate();
  const one = electorate.add();
  await electorate.pass(100);
  electorate.leases.edit((lease) => ({
    ...lease,
    spec: { holderIdentity: "somebody", leaseDurationSeconds: 15 },
  }));
  await electorate.pass(2_100);
  assert.equal(one.leads(), false);
  assert.match(String(one.terms[0]?.signal.reason), /somebody else has the lease/);
  await electorate.pass(17_000);
  assert.ok(one.leads());
  await electorate.stop();
});

test("a label that somebody adds to the lease ends no term, and stays", async () => {
  const electorate = new Electorate();
  const one = electorate.add();
  await electorate.pass(100);
  electorate.leases.edit(({ metadata, ...lease }) => ({
    ...lease,
    metadata: { ...metadata, labels: { team: "x" } },
  }));
  await electorate.pass(30_000);
  assert.equal(one.terms.length, 1);
  assert.ok(one.leads());
  assert.deepEqual(electorate.leases.lease?.metadata.labels, { team: "x" });
  await electorate.stop();
});

test("a deleted lease is noticed, and who had seen it waits for its time", async () => {
  const electorate = new Electorate();
  const one = electorate.add();
  await electorate.pass(100);
  const other = electorate.add();
  await electorate.pass(5_000);
  one.link.cut = true;
  electorate.leases.lease = undefined;
  await electorate.pass(8_000);
  assert.equal(other.leads(), false);
  await electorate.pass(10_000);
  assert.equal(one.leads(), false);
  assert.ok(other.leads());
  await electorate.stop();
});

test("a deleted lease ends the leader's term at the next renewal", async () => {
  const electorate = new Electorate();
  const one = electorate.add();
  await electorate.pass(100);
  electorate.leases.lease = undefined;
  await electorate.pass(2_100);
  assert.equal(one.leads(), false);
  await electorate.pass(20_000);
  assert.ok(one.leads());
  await electorate.stop();
});

test("a date that stands still or is years off changes nothing", async () => {
  const electorate = new Electorate();
  const frozen = { ...straight, frozenDate: true };
  const ahead = { ...straight, dateOffset: 1e11 };
  const one = electorate.add({ bend: frozen });
  await electorate.pass(100);
  const other = electorate.add({ bend: ahead });
  await electorate.pass(120_000);
  assert.equal(one.terms.length, 1);
  assert.deepEqual(electorate.leaders, [one]);
  one.end();
  await electorate.pass(2_000);
  assert.deepEqual(electorate.leaders, [other]);
  await electorate.stop();
});

test("work that ends by itself ends the election and gives the lease back", async () => {
  const electorate = new Electorate();
  const one = electorate.add({ work: async () => {} });
  await electorate.pass(1_000);
  await one.run;
  assert.equal(electorate.leases.spec["holderIdentity"], "");
  await electorate.stop();
});

test("what the work throws is thrown, after the lease was given back", async () => {
  const electorate = new Electorate();
  const one = electorate.add({
    work: async () => {
      throw new Error("not today");
    },
  });
  await assert.rejects(Promise.all([one.run, electorate.time.pass(1_000)]), /not today/);
  await electorate.time.pass(1_000);
  assert.equal(electorate.leases.spec["holderIdentity"], "");
  assert.equal(electorate.time.sleepers, 0);
});

test("what the work throws once it was told to stop is no failure", async () => {
  const electorate = new Electorate();
  const one = electorate.add({
    work: async (signal) => {
      await untilStopped(signal);
      signal.throwIfAborted();
    },
  });
  await electorate.pass(100);
  one.link.cut = true;
  await electorate.pass(30_000);
  one.link.cut = false;
  await electorate.pass(3_000);
  assert.equal(one.terms.length, 2);
  await electorate.stop();
});

test("a write that came through without an answer is known as one's own, and given back", async () => {
  const electorate = new Electorate();
  let silent = true;
  const one = electorate.add({
    fate: () => (silent ? unanswered : { ...unanswered, outcome: "answered" }),
  });
  await electorate.pass(2_500);
  silent = false;
  await electorate.pass(1_500);
  assert.ok(one.leads());
  silent = true;
  await electorate.pass(2_000);
  silent = false;
  await electorate.stop();
  assert.equal(electorate.leases.spec["holderIdentity"], "");
});

test("who is told to stop while the API server hangs stops within three seconds", async () => {
  for (const leads of [true, false]) {
    const electorate = new Electorate();
    const one = electorate.add();
    if (!leads) one.link.cut = true;
    await electorate.pass(100);
    one.link.cut = true;
    await electorate.pass(4_000);
    let over = false;
    void one.run.then(() => {
      over = true;
    });
    one.end();
    await electorate.pass(3_000);
    assert.ok(over);
    await electorate.stop();
  }
});

test("limits that contradict each other are refused", () => {
  const { leases } = new Electorate();
  const client = leases.client({ cut: true, fate: () => unanswered });
  const make = (limits: object) =>
    new LeaderElection({
      client,
      namespace: "kube-system",
      name: "larder",
      instance: "one",
      onStart: untilStopped,
      limits,
    });
  assert.throws(() => make({ leaseMs: 10_000 }), /contradict/);
  assert.throws(() => make({ renewMs: 9_000 }), /contradict/);
  make({ leaseMs: 30_000 });
});
