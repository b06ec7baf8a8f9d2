import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import fc from "fast-check";

import { HandClock, settled } from "../../testbed/hand-clock.ts";
import { ApiError } from "./api-error.ts";
import type { Client } from "./client.ts";
import { eventLimits, EventRecorder, type EventInput } from "./event-recorder.ts";
import type { KubeObject } from "./object.ts";

const minute = 60_000;

function refusal(status: number, rest: { reason?: string; retryAfterMs?: number } = {}): ApiError {
  const retryable = status === 0 || status === 403 || status === 429 || status >= 500;
  const parts = { what: "cannot write", why: "it is a test", todo: "nothing" };
  return new ApiError({ status, retryable, ...rest, ...parts });
}

function countOf(event: KubeObject): number {
  const series = event["series"];
  if (typeof series !== "object" || series === null || !("count" in series)) return 1;
  return Number(series.count);
}

/** What an API server does with events, which can be told to fail. */
class Events implements Pick<Client, "create" | "patch"> {
  readonly there = new Map<string, KubeObject>();
  /** `create` or `patch`, and the milliseconds, of each request. */
  readonly requests: string[] = [];
  /** Thrown in place of an answer; the write has happened where `lost` is set. */
  failure: { readonly error: unknown; readonly lost?: boolean } | undefined;
  readonly #clock: HandClock;

  constructor(clock: HandClock) {
    this.#clock = clock;
  }

  get only(): KubeObject {
    assert.equal(this.there.size, 1);
    return [...this.there.values()][0]!;
  }

  get notes(): unknown[] {
    return [...this.there.values()].map((event) => event["note"]);
  }

  async create(_resource: unknown, event: KubeObject): Promise<KubeObject> {
    return this.#answer("create", () => {
      const { name } = event.metadata;
      if (this.there.has(name)) throw refusal(409, { reason: "AlreadyExists" });
      this.there.set(name, event);
      return event;
    });
  }

  async patch(_resource: unknown, name: string, patch: object): Promise<KubeObject> {
    return this.#answer("patch", () => {
      const event = this.there.get(name);
      if (event === undefined) throw refusal(404, { reason: "NotFound" });
      const patched = { ...event, ...patch };
      this.there.set(name, patched);
      return patched;
    });
  }

  #answer(verb: string, write: () => KubeObject): KubeObject {
    this.requests.push(`${verb}@${this.#clock.monotonic()}`);
    const { failure } = this;
    if (failure !== undefined && failure.lost !== true) throw failure.error;
    const written = write();
    if (failure !== undefined) throw failure.error;
    return written;
  }
}

/** A recorder at work, with a clock that goes on by hand, until the test ends. */
function start(t: TestContext | undefined, limits: Partial<typeof eventLimits> = {}) {
  const clock = new HandClock();
  const events = new Events(clock);
  const dropped = { count: 0 };
  let calls = 0;
  const recorder = new EventRecorder({
    client: events,
    component: "image-cache-agent",
    instance: "node-1",
    clock,
    // Always about a half, and never the same.
    random: () => 0.5 + ++calls / 1e9,
    onDropped: (count) => {
      dropped.count += count;
    },
    limits,
  });
  const stop = new AbortController();
  const run = recorder.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await run;
    assert.equal(clock.sleepers, 0, "a timer was left behind");
  };
  t?.after(end);
  return { clock, events, dropped, recorder, end };
}

function failure(note = "it failed", name = "worker"): EventInput {
  const regarding = { apiVersion: "test/v1", kind: "ImageCache", name, uid: `uid-of-${name}` };
  return { regarding, type: "Warning", reason: "SyncFailed", action: "Pull", note };
}

test("what happens is told at once", async (t) => {
  const { events, recorder } = start(t);
  recorder.record(failure());
  await settled();
  assert.deepEqual(events.requests, ["create@0"]);
  assert.equal(events.only["note"], "it failed");
  assert.equal(events.only["series"], undefined);
});

test("what repeats is one event, whose series is patched ever more seldom", async (t) => {
  const { clock, events, recorder } = start(t);
  for (let second = 0; second < 3600; second += 10) {
    recorder.record(failure());
    await clock.pass(10_000);
  }
  const [create, ...patches] = events.requests;
  assert.equal(create, "create@0");
  const times = patches.map((patch) => Number(patch.replace("patch@", "")) / 1000);
  assert.deepEqual(times, [30, 90, 210, 450, 930, 1530, 2130, 2730, 3330]);
  assert.equal(countOf(events.only), 333);
});

test("the last repeats are told when the series has ended, however far apart patches are", async (t) => {
  const { clock, events, recorder } = start(t);
  for (let times = 0; times < 100; times++) {
    recorder.record(failure());
    await clock.pass(10_000);
  }
  await clock.pass(20 * minute);
  assert.deepEqual(events.only["series"], {
    count: 100,
    lastObservedTime: "2026-01-01T00:16:30.000000Z",
  });
  // The patch before was at 930 s, the next would be at 1530 s, the last repeat was at 990 s.
  assert.equal(events.requests.at(-1), "patch@1350000");
  await clock.pass(60 * minute);
  assert.equal(events.requests.at(-1), "patch@1350000");
});

test("what comes again after six minutes is an event of its own", async (t) => {
  const { clock, events, recorder } = start(t);
  recorder.record(failure());
  await clock.pass(6 * minute);
  recorder.record(failure());
  await clock.pass(6 * minute + 1);
  recorder.record(failure());
  await settled();
  assert.deepEqual([...events.there.values()].map(countOf), [2, 1]);
});

test("another object, reason or note is another event", async (t) => {
  const { events, recorder } = start(t);
  recorder.record(failure());
  recorder.record(failure("it failed", "another"));
  recorder.record(failure("something else"));
  recorder.record({ ...failure(), reason: "InsufficientDisk" });
  recorder.record({ ...failure(), type: "Normal" });
  await settled();
  assert.equal(events.there.size, 5);
});

test("notes that never repeat are folded after the first few", async (t) => {
  const { clock, events, recorder, dropped } = start(t);
  for (let number = 0; number < 100; number++) {
    recorder.record(failure(`try ${number} failed`));
    await clock.pass(1_000);
  }
  await clock.pass(20 * minute);
  assert.deepEqual(events.notes, [
    "try 0 failed",
    "try 1 failed",
    "try 2 failed",
    "(one of several notes) try 3 failed",
  ]);
  assert.deepEqual([...events.there.values()].map(countOf), [1, 1, 1, 97]);
  assert.equal(dropped.count, 0);
});

test("no more requests go out than the rate allows, whatever happens", async (t) => {
  const { clock, events, recorder } = start(t);
  for (let number = 0; number < 600; number++) {
    recorder.record(failure("it failed", `worker-${number % 40}`));
    await clock.pass(1_000);
  }
  assert.equal(events.requests.filter((request) => request.endsWith("@0")).length, 1);
  assert.ok(events.requests.length <= 10 + 600 / 30, `${events.requests.length} requests`);
});

test("a failed write costs as much as another, and is tried again later and later", async (t) => {
  const { clock, events, recorder } = start(t);
  events.failure = { error: refusal(503) };
  recorder.record(failure());
  await clock.pass(2 * minute);
  // Three quarters of 1, 2, 4, 8, 16, 32 and 60 s.
  const times = [0, 0.75, 2.25, 5.25, 11.25, 23.25, 47.25, 92.25];
  const tried = events.requests.map((request) => Math.round(Number(request.slice(7))));
  assert.deepEqual(
    tried,
    times.map((seconds) => seconds * 1000),
  );
  events.failure = undefined;
  await clock.pass(minute);
  assert.equal(events.there.size, 1);
});

test("what could not be told for five minutes is given up and counted", async (t) => {
  const { clock, events, recorder, dropped } = start(t);
  events.failure = { error: refusal(0) };
  recorder.record(failure());
  recorder.record(failure());
  await clock.pass(10 * minute);
  assert.equal(dropped.count, 2);
  events.failure = undefined;
  await clock.pass(10 * minute);
  assert.equal(events.there.size, 0);
});

test("what goes on while the API server is away is told as a series when it is back", async (t) => {
  const { clock, events, recorder, dropped } = start(t);
  events.failure = { error: refusal(0) };
  for (let times = 0; times < 30; times++) {
    recorder.record(failure());
    await clock.pass(minute);
  }
  events.failure = undefined;
  await clock.pass(2 * minute);
  assert.equal(countOf(events.only), 30);
  assert.equal(events.only["eventTime"], "2026-01-01T00:00:00.000000Z");
  assert.equal(dropped.count, 0);
});

test("an event that is refused for what it says is given up at once and holds up no other", async (t) => {
  const { events, recorder, dropped } = start(t);
  events.failure = { error: refusal(422) };
  recorder.record(failure());
  await settled();
  events.failure = undefined;
  recorder.record(failure("another"));
  await settled();
  assert.deepEqual(events.notes, ["another"]);
  assert.equal(dropped.count, 1);
});

test("an event that was deleted meanwhile is created anew", async (t) => {
  const { clock, events, recorder } = start(t);
  recorder.record(failure());
  await settled();
  const before = events.only.metadata.name;
  events.there.clear();
  recorder.record(failure());
  await clock.pass(minute);
  assert.notEqual(events.only.metadata.name, before);
  assert.deepEqual(events.requests, ["create@0", "patch@30000", "create@30000"]);
  assert.equal(countOf(events.only), 2);
});

test("a name that is another event's is not taken for one's own", async (t) => {
  const { clock, events, recorder } = start(t);
  recorder.record(failure());
  await settled();
  const { name } = events.only.metadata;
  events.failure = { error: refusal(409, { reason: "AlreadyExists" }) };
  recorder.record(failure("another"));
  await settled();
  events.failure = undefined;
  await clock.pass(minute);
  assert.equal(events.there.size, 2);
  assert.ok(events.there.has(name));
});

test("a write whose answer was lost is not told twice", async (t) => {
  const { clock, events, recorder } = start(t);
  events.failure = { error: refusal(0), lost: true };
  recorder.record(failure());
  await settled();
  events.failure = undefined;
  recorder.record(failure());
  await clock.pass(2 * minute);
  assert.equal(countOf(events.only), 2);
});

test("nothing is asked for as long as the API server says", async (t) => {
  const { clock, events, recorder } = start(t);
  events.failure = { error: refusal(429, { retryAfterMs: 20_000 }) };
  recorder.record(failure());
  await settled();
  events.failure = undefined;
  recorder.record(failure("another"));
  await clock.pass(19_999);
  assert.equal(events.requests.length, 1);
  await clock.pass(1);
  assert.equal(events.there.size, 2);
});

test("recording never throws and never waits, whatever the client does", async (t) => {
  const { clock, events, recorder } = start(t);
  events.failure = { error: new TypeError("a fault") };
  recorder.record(failure("\ud800 half a character"));
  await clock.pass(minute);
  events.failure = undefined;
  await clock.pass(2 * minute);
  assert.deepEqual(events.notes, ["\ufffd half a character"]);
});

test("flush tells after the end what is not told yet, within the rate", async () => {
  const { clock, events, recorder, end } = start(undefined);
  for (let number = 0; number < 9; number++) recorder.record(failure("a", `worker-${number}`));
  await settled();
  await end();
  recorder.record(failure("a", "worker-0"));
  recorder.record(failure("a", "worker-1"));
  await recorder.flush(new AbortController().signal);
  assert.equal(events.requests.length, 10);
  assert.equal(events.requests.at(-1), "patch@0");
  assert.equal(clock.sleepers, 0);
});

const happening = fc.record({
  pauseMs: fc.constantFrom(0, 1, 1_000, 40_000, 5 * minute, 12 * minute),
  note: fc.constantFrom("a", "b", "c", "d", "e"),
  name: fc.constantFrom("x", "y", "z"),
  fails: fc.constantFrom(undefined, undefined, undefined, 0, 409, 422, 503),
});

test("every occurrence is told or counted as given up, within the rate", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 60 }), async (happenings) => {
      const { clock, events, recorder, dropped, end } = start(undefined, { mostSeries: 5 });
      for (const { pauseMs, note, name, fails } of happenings) {
        events.failure = fails === undefined ? undefined : { error: refusal(fails) };
        recorder.record(failure(note, name));
        if (pauseMs > 0) await clock.pass(pauseMs);
      }
      events.failure = undefined;
      await clock.pass(60 * minute);
      const told = [...events.there.values()].map(countOf);
      const sum = told.reduce((all, count) => all + count, dropped.count);
      assert.equal(sum, happenings.length);
      assert.ok(events.requests.length <= 10 + clock.monotonic() / 30_000);
      await end();
    }),
    { numRuns: 150 },
  );
});
