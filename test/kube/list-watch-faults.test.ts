/** What a real API server cannot be made to do, done by one that can misbehave. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { Client } from "../../src/kube/client.ts";
import type { InformerOptions } from "../../src/kube/informer.ts";
import type { MisbehavingApiServer } from "../../testbed/misbehaving-api-server.ts";
import { startMisbehavingApiServer } from "../../testbed/misbehaving-api-server.ts";
import { until } from "../../testbed/until.ts";
import { configMap, configMaps, follow, keep, type Followed, type Kept } from "./followed.ts";

const namespace = "here";

interface Stage extends Followed {
  readonly server: MisbehavingApiServer;
}

/** @param prepare before the informer starts */
async function stage(
  t: TestContext,
  options: Partial<InformerOptions<Kept>> = {},
  prepare: (server: MisbehavingApiServer) => void = () => {},
): Promise<Stage> {
  const server = await startMisbehavingApiServer({ resource: configMaps });
  t.after(() => server.stop());
  server.put(configMap(namespace, "a", "1"));
  prepare(server);
  const client = new Client({ access: server.access(), userAgent: "faults/0", timeoutMs: 500 });
  t.after(() => client.close());
  return { server, ...follow(t, client, { namespace, ...options }) };
}

async function live({ informer }: Followed): Promise<void> {
  await until("the informer is live", () => informer.synced && informer.live);
}

/** It failed, for this reason, and is live again. */
async function recovered(followed: Followed, why: RegExp): Promise<void> {
  await until(`it failed: ${why}`, () => reasons(followed).some((text) => why.test(text)));
  await live(followed);
}

function reasons({ states }: Followed): string[] {
  return [...new Set(states.map(({ why }) => why))].flatMap((why) => (why ? [why.message] : []));
}

function value({ informer }: Followed, name: string): string | undefined {
  return informer.get(name)?.value;
}

test("an answer of 410 to a resumed watch leads to a list", async (t) => {
  const limits = { leastTimeoutSeconds: 1, mostTimeoutSeconds: 1, earlyMs: 300 };
  const followed = await stage(t, { limits });
  await live(followed);
  followed.server.misbehave("watch", { kind: "answer", status: 410, reason: "Expired" });
  await recovered(followed, /answered 410 Gone.*list again/);
  assert.deepEqual(followed.said(), ["added a=1"]);
});

test("an ERROR event of 410 leads to a list that finds what the watch did not say", async (t) => {
  const followed = await stage(t);
  await live(followed);
  const [watch] = followed.server.watches;
  watch?.mute();
  followed.server.put(configMap(namespace, "a", "2"));
  followed.server.compact();
  followed.server.misbehave("stream", { kind: "error event", status: 410, reason: "Expired" });
  watch?.end();
  await recovered(followed, /answered 410 Gone/);
  assert.deepEqual(followed.said(), ["added a=1", "updated a=1>2"]);
});

test("a history that was compacted while nobody watched leads to a list", async (t) => {
  const limits = { leastTimeoutSeconds: 1, mostTimeoutSeconds: 1, earlyMs: 300 };
  const followed = await stage(t, { limits, streamed: false });
  await live(followed);
  followed.server.bookmarks = false;
  followed.server.watches[0]?.mute();
  followed.server.put(configMap(namespace, "a", "2"));
  followed.server.compact();
  await recovered(followed, /answered 410 Gone/);
  assert.deepEqual(followed.said(), ["added a=1", "updated a=1>2"]);
});

test("a bookmark moves the point from which a watch is resumed", async (t) => {
  const limits = { leastTimeoutSeconds: 1, mostTimeoutSeconds: 1, earlyMs: 300 };
  const followed = await stage(t, { limits });
  await live(followed);
  followed.server.put(configMap("elsewhere", "b", "1"));
  followed.server.bookmark();
  followed.server.compact();
  await until("it is resumed", () => followed.asked.watch >= 2);
  followed.server.put(configMap(namespace, "c", "1"));
  await until("c is known", () => value(followed, "c") === "1");
  assert.deepEqual(reasons(followed), []);
  assert.deepEqual(followed.said(), ["added a=1", "live added c=1"]);
});

test("a watch that ends before its time may lead to another history: it is listed again", async (t) => {
  const followed = await stage(t);
  await live(followed);
  for (const watch of followed.server.watches) watch.end();
  await recovered(followed, /ended before its time/);
  assert.equal(followed.server.count("stream"), 2);
  assert.equal(followed.server.count("watch"), 0);
});

test("watches that all end at once are tried again later and later", async (t) => {
  const limits = { backoff: { firstMs: 20, maxMs: 10_000 }, calmMs: 5_000 };
  const waits: number[] = [];
  const clock = {
    monotonic: () => performance.now(),
    date: () => Date.now(),
    sleep: (milliseconds: number) => {
      waits.push(milliseconds);
      return Promise.resolve();
    },
  };
  const followed = await stage(
    t,
    { limits, clock, random: () => 0.5, streamed: false },
    (server) => {
      server.misbehave("watch", { kind: "end", after: 0 }, 5);
    },
  );
  await until("five ended", () => waits.length === 5);
  assert.deepEqual(waits, [15, 30, 60, 120, 240]);
  await live(followed);
});

test("a watch that lasted makes the next failure a first one", async (t) => {
  const waits: number[] = [];
  let now = 0;
  const clock = {
    monotonic: () => now,
    date: () => Date.now(),
    sleep: (milliseconds: number) => {
      waits.push(milliseconds);
      return Promise.resolve();
    },
  };
  const limits = { backoff: { firstMs: 1_000, maxMs: 30_000 }, calmMs: 5_000 };
  const followed = await stage(t, { limits, clock, random: () => 0 }, (server) => {
    server.misbehave("stream", { kind: "drop" }, 3);
  });
  await live(followed);
  now += 6_000;
  for (const watch of followed.server.watches) watch.end();
  await until("it waited again", () => waits.length === 4);
  assert.deepEqual(waits, [500, 1_000, 2_000, 500]);
});

test("a cut in the middle of an event loses nothing and makes up nothing", async (t) => {
  const followed = await stage(t, { streamed: false }, (server) => {
    server.misbehave("watch", { kind: "cut", after: 1 });
  });
  await live(followed);
  followed.server.put(configMap(namespace, "b", "1"));
  await until("b is known", () => value(followed, "b") === "1");
  followed.server.put(configMap(namespace, "c", "1"));
  await recovered(followed, /the connection to .* broke/);
  assert.deepEqual(followed.said(), ["added a=1", "added c=1", "live added b=1"]);
});

test("an end in the middle of an event is a break, whatever the time", async (t) => {
  const followed = await stage(t);
  await live(followed);
  const [watch] = followed.server.watches;
  watch?.cut('{"type":"ADDED","object":{"metadata":{"name":"b"');
  await recovered(followed, /cannot watch configmaps\/here: the connection/);
  assert.deepEqual(followed.said(), ["added a=1"]);
});

test("a cut within a streamed list changes nothing", async (t) => {
  const followed = await stage(t);
  await live(followed);
  for (const name of ["b", "c", "d"]) followed.server.put(configMap(namespace, name, "1"));
  await until("all are known", () => followed.informer.size === 4);
  followed.changes.length = 0;
  followed.server.misbehave("stream", { kind: "cut", after: 2 }, 2);
  followed.server.cutAll();
  await until("three lists", () => followed.server.count("stream") >= 4);
  await live(followed);
  assert.deepEqual(followed.changes, []);
  assert.equal(followed.informer.size, 4);
});

test("a streamed list that ends before it is complete changes nothing", async (t) => {
  const followed = await stage(t, {}, (server) => {
    server.misbehave("stream", { kind: "end", after: 0 });
  });
  await recovered(followed, /ended before its list was complete/);
  assert.deepEqual(followed.said(), ["added a=1"]);
});

test("a streamed list that stops is given up and asked for again", async (t) => {
  const followed = await stage(t, { limits: { listSilenceMs: 100 } }, (server) => {
    server.misbehave("stream", { kind: "silent" });
  });
  await recovered(followed, /its list stopped before it was complete, for 0.1 s/);
  assert.deepEqual(followed.said(), ["added a=1"]);
});

test("a watch that falls silent is dead", async (t) => {
  const followed = await stage(t, { limits: { silenceMs: 200 } });
  await live(followed);
  for (const watch of followed.server.watches) watch.mute();
  followed.server.put(configMap(namespace, "a", "2"));
  await recovered(followed, /no byte came for 0.2 s/);
  assert.deepEqual(followed.said(), ["added a=1", "updated a=1>2"]);
});

test("bookmarks alone keep a watch alive", async (t) => {
  const followed = await stage(t, { limits: { silenceMs: 400 } });
  await live(followed);
  const begun = performance.now();
  await until("two silences would have passed", () => {
    followed.server.bookmark();
    return performance.now() - begun > 1_000;
  });
  assert.deepEqual(reasons(followed), []);
});

test("a server without bookmarks is followed all the same", async (t) => {
  const limits = { leastTimeoutSeconds: 1, mostTimeoutSeconds: 1, earlyMs: 300 };
  const followed = await stage(t, { limits }, (server) => {
    server.bookmarks = false;
  });
  await live(followed);
  await until("it is resumed", () => followed.asked.watch >= 3);
  followed.server.put(configMap(namespace, "b", "1"));
  await until("b is known", () => value(followed, "b") === "1");
  assert.deepEqual(reasons(followed), []);
});

test("a server that refuses to stream lists is asked once, and listed page by page", async (t) => {
  const followed = await stage(t, {}, (server) => {
    server.streams = false;
  });
  await live(followed);
  followed.server.cutAll();
  await recovered(followed, /broke/);
  assert.equal(followed.server.count("stream"), 1);
  assert.equal(followed.server.count("list"), 2);
  assert.deepEqual(followed.said(), ["added a=1"]);
});

test("a server that takes a streamed list for a usual watch is listed page by page", async (t) => {
  const followed = await stage(t, {}, (server) => {
    server.ignoresStreams = true;
  });
  await until("it watches", () => followed.server.watches.length === 1);
  assert.equal(followed.informer.synced, false);
  followed.server.bookmark();
  await live(followed);
  assert.equal(followed.server.count("list"), 1);
  assert.deepEqual(followed.said(), ["added a=1"]);
});

test("Retry-After is waited for, and no server is waited for longer than the limit", async (t) => {
  const waits: number[] = [];
  const clock = {
    monotonic: () => performance.now(),
    date: () => Date.now(),
    sleep: (milliseconds: number) => {
      waits.push(milliseconds);
      return Promise.resolve();
    },
  };
  const busy = (seconds: number) =>
    ({
      kind: "answer",
      status: 429,
      reason: "TooManyRequests",
      headers: { "Retry-After": String(seconds) },
    }) as const;
  const followed = await stage(t, { clock }, (server) => {
    server.misbehave("stream", busy(7));
    server.misbehave("stream", busy(999_999));
  });
  await live(followed);
  assert.deepEqual(waits, [7_000, 300_000]);
  assert.match(reasons(followed)[0] ?? "", /answered 429 Too Many Requests.*: wait: /);
});

test("a server that answers 500 for a while is asked until it is well", async (t) => {
  const followed = await stage(t, {}, (server) => {
    server.misbehave("anything", { kind: "answer", status: 500, reason: "InternalError" }, 4);
  });
  await recovered(followed, /answered 500 Internal Server Error/);
  assert.equal(reasons(followed).length, 4);
  assert.deepEqual(followed.said(), ["added a=1"]);
});

test("a failing list hides nothing of what was known", async (t) => {
  const followed = await stage(t, { streamed: false });
  await live(followed);
  followed.server.misbehave("list", { kind: "answer", status: 503 }, 3);
  followed.server.cutAll();
  await until("it failed", () => reasons(followed).length >= 2);
  assert.equal(value(followed, "a"), "1");
  await live(followed);
  assert.deepEqual(followed.said(), ["added a=1"]);
});

test("a list that expires between two pages is begun anew", async (t) => {
  const followed = await stage(t, { streamed: false }, (server) => {
    for (let index = 0; index < 1_100; index += 1) {
      server.put(configMap(namespace, `m-${index}`, "1"));
    }
    server.misbehave("list", { kind: "none" });
    server.misbehave("list", { kind: "answer", status: 410, reason: "Expired" });
  });
  await recovered(followed, /answered 410 Gone/);
  assert.equal(followed.informer.size, 1_101);
});

test("an API server that takes requests and does not answer has a time limit", async (t) => {
  const followed = await stage(t, {}, (server) => {
    server.misbehave("stream", { kind: "hang" });
  });
  await recovered(followed, /does not answer \(no byte came for 0.5 s\)/);
  assert.deepEqual(followed.said(), ["added a=1"]);
});

test("an event that comes twice is no second change", async (t) => {
  const followed = await stage(t);
  await live(followed);
  const once = followed.server.put(configMap(namespace, "b", "1"));
  for (const watch of followed.server.watches) watch.tell(once);
  const gone = followed.server.remove(`${namespace}/b`);
  for (const watch of followed.server.watches) watch.tell(gone);
  followed.server.put(configMap(namespace, "c", "1"));
  await until("c is known", () => value(followed, "c") === "1");
  assert.deepEqual(followed.said(), [
    "added a=1",
    "live added b=1",
    "live added c=1",
    "live deleted b=1",
  ]);
  assert.deepEqual(reasons(followed), []);
});

test("an event from the past is not believed: it is listed again", async (t) => {
  const followed = await stage(t);
  await live(followed);
  const old = followed.server.put(configMap(namespace, "b", "1"));
  followed.server.put(configMap(namespace, "b", "2"));
  await until("b is 2", () => value(followed, "b") === "2");
  for (const watch of followed.server.watches) watch.tell(old);
  await recovered(followed, /its history went back, from \d+ to \d+/);
  assert.equal(value(followed, "b"), "2");
  assert.deepEqual(followed.said(), ["added a=1", "live added b=1", "live updated b=1>2"]);
});

test("a bookmark from the past is another history: it is listed again", async (t) => {
  const followed = await stage(t);
  await live(followed);
  followed.server.wipe();
  followed.server.bookmark();
  await recovered(followed, /its history went back/);
  assert.deepEqual(followed.said(), ["added a=1", "deleted a=1"]);
});

test("what a cluster rebuilt from nothing lacks is deleted, and nobody saw it go", async (t) => {
  const followed = await stage(t);
  await live(followed);
  followed.server.put(configMap(namespace, "b", "1"));
  await until("b is known", () => value(followed, "b") === "1");
  followed.changes.length = 0;
  followed.server.wipe();
  followed.server.put(configMap(namespace, "b", "1"));
  for (const watch of followed.server.watches) watch.mute();
  followed.server.cutAll();
  await recovered(followed, /broke/);
  assert.deepEqual(followed.said(), ["added b=1", "deleted a=1", "deleted b=1"]);
  followed.server.put(configMap(namespace, "c", "1"));
  await until("c is known", () => value(followed, "c") === "1");
});

test("an object that cannot be parsed is left out, told once, and harms no other", async (t) => {
  const parsed: string[] = [];
  const parse: typeof keep = (object) => {
    const kept = keep(object);
    parsed.push(`${kept.name}=${kept.value}`);
    if (kept.value === "bad") throw new Error("no number");
    return kept;
  };
  const followed = await stage(t, { parse }, (server) => {
    server.put(configMap(namespace, "b", "bad"));
  });
  await live(followed);
  followed.server.cutAll();
  await recovered(followed, /broke/);
  assert.deepEqual(followed.state(), { a: "1" });
  assert.deepEqual(parsed, ["a=1", "b=bad"]);
  assert.deepEqual(
    followed.problems.map(({ name, error }) => [name, String(error)]),
    [["b", "Error: no number"]],
  );
  followed.server.put(configMap(namespace, "b", "2"));
  await until("b is known", () => value(followed, "b") === "2");
  followed.server.put(configMap(namespace, "b", "bad"));
  await until("b is left out again", () => followed.informer.size === 1);
  // The object is still there: whoever acts on deletions must not take it for one that was seen.
  const { kind, live: seen } = followed.changes.at(-1) ?? {};
  assert.deepEqual({ kind, seen }, { kind: "deleted", seen: false });
});

test("a line that is no event is a failure, and the next list is right", async (t) => {
  const followed = await stage(t);
  for (const [line, why] of [
    ["<html>", /a line that is no event/],
    ['{"type":"ADDED","object":{"metadata":{}}}', /something without a name/],
    ['{"type":"LOST","object":{"metadata":{"name":"a"}}}', /of a type that Larder does not know/],
    ['{"type":"BOOKMARK","object":{}}', /a bookmark without a resourceVersion/],
  ] as const) {
    await live(followed);
    for (const watch of followed.server.watches) watch.line(line);
    await recovered(followed, why);
  }
  assert.deepEqual(followed.said(), ["added a=1"]);
});

test("an event without end has an end", async (t) => {
  const followed = await stage(t);
  await live(followed);
  const [watch] = followed.server.watches;
  const text = "x".repeat(1024 * 1024);
  for (let mebibytes = 0; mebibytes < 17; mebibytes += 1) watch?.words(text);
  await recovered(followed, /a line of more than 16 MiB/);
});
