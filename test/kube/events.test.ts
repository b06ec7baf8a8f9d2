/** Events on a real API server, by an account that may create and patch them and nothing else. */
import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";

import { Client } from "../../src/kube/client.ts";
import { eventLimits, EventRecorder, type EventInput } from "../../src/kube/event-recorder.ts";
import { startControlPlane, type ControlPlane } from "../../testbed/control-plane.ts";
import { until } from "../../testbed/until.ts";

const account = { namespace: "default", name: "larder-agent" };
const group = "/apis/events.k8s.io/v1/namespaces/default/events";

interface ShownEvent {
  readonly metadata: { readonly name: string };
  readonly note: string;
  readonly eventTime: string;
  readonly regarding: { readonly kind: string; readonly name: string };
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

/** An event about a cluster-scoped object of a kind that the server need not know. */
function happening(name: string, rest: Partial<EventInput> = {}): EventInput {
  return {
    regarding: {
      apiVersion: "image-cache.scality.com/v1alpha1",
      kind: "ImageCache",
      name,
      uid: `7d0e7f4c-0000-4000-8000-${Buffer.from(name.padEnd(6).slice(0, 6)).toString("hex")}`,
    },
    type: "Warning",
    reason: "SyncFailed",
    action: "Pull",
    note: "cannot pull it: nobody answers: start the registry",
    ...rest,
  };
}

describe("the event recorder on an API server of Kubernetes", () => {
  let plane: ControlPlane;
  let client: Client;

  before(async () => {
    plane = await startControlPlane();
    const { name } = account;
    await plane.kubectl("create", "serviceaccount", name, "-n", account.namespace);
    const verbs = ["--verb=create,patch", "--resource=events.events.k8s.io"];
    await plane.kubectl("create", "clusterrole", name, ...verbs);
    const subject = `--serviceaccount=${account.namespace}:${name}`;
    await plane.kubectl("create", "clusterrolebinding", name, `--clusterrole=${name}`, subject);
    const token = await plane.serviceAccountToken(account);
    client = new Client({ access: plane.access(token), userAgent: "larder-test/0" });
  });
  after(async () => {
    client.close();
    await plane.stop();
  });

  /** A recorder at work until the test ends, which patches soon and fails the test where it drops. */
  function start(t: TestContext, instance = "node-1"): EventRecorder {
    const errors: unknown[] = [];
    const recorder = new EventRecorder({
      client,
      component: "image-cache-agent",
      instance,
      onError: (error) => errors.push(error),
      limits: { firstPatchMs: 50, rate: { ...eventLimits.rate, burst: 50 } },
    });
    const stop = new AbortController();
    const run = recorder.run(stop.signal);
    t.after(async () => {
      stop.abort();
      await run;
      assert.deepEqual(errors, []);
    });
    return recorder;
  }

  async function eventsOf(name: string): Promise<readonly ShownEvent[]> {
    const list = (await plane.ask(group)) as { readonly items: readonly ShownEvent[] };
    return list.items.filter(({ regarding }) => regarding.name === name);
  }

  test("an event about a cluster-scoped object is taken and shown by kubectl", async (t) => {
    start(t).record(happening("worker-1"));
    await until("the event is there", async () => (await eventsOf("worker-1")).length === 1);
    const shown = await plane.kubectl("events", "-n", "default");
    assert.match(shown, /Warning +SyncFailed +ImageCache\/worker-1 +cannot pull it/);
  });

  test("what repeats folds into the series of one event", async (t) => {
    const recorder = start(t);
    for (let times = 0; times < 5; times++) recorder.record(happening("worker-2"));
    await until("it is there", async () => (await eventsOf("worker-2")).length === 1);
    for (let times = 0; times < 5; times++) recorder.record(happening("worker-2"));
    const counted = async () => (await eventsOf("worker-2"))[0]?.series?.count;
    await until("all ten are counted", async () => (await counted()) === 10);
    const [event, ...more] = await eventsOf("worker-2");
    assert.equal(more.length, 0);
    assert.ok(event?.series && event.series.lastObservedTime >= event.eventTime);
    const shown = await plane.kubectl("events", "-n", "default");
    assert.match(shown, /\(x10 over .* ImageCache\/worker-2 /);
  });

  test("an event that somebody deleted comes again", async (t) => {
    const recorder = start(t);
    recorder.record(happening("worker-3"));
    await until("it is there", async () => (await eventsOf("worker-3")).length === 1);
    const [first] = await eventsOf("worker-3");
    await plane.ask(`${group}/${first?.metadata.name}`, { method: "DELETE" });
    recorder.record(happening("worker-3"));
    await until("it is there again", async () => (await eventsOf("worker-3")).length === 1);
    const [second] = await eventsOf("worker-3");
    assert.notEqual(second?.metadata.name, first?.metadata.name);
    assert.equal(second?.series?.count, 2);
  });

  test("the longest that anything may be is taken: note, names, reason, action", async (t) => {
    const name = `${"n".repeat(63)}.`.repeat(3) + "n".repeat(61);
    const recorder = start(t, name);
    const note = "\u{1f4a5}".repeat(2_000);
    recorder.record(happening(name, { note, reason: "R".repeat(200), action: "A".repeat(200) }));
    await until("it is there", async () => (await eventsOf(name)).length === 1);
    const [event] = await eventsOf(name);
    assert.equal(event?.note, "\u{1f4a5}".repeat(256));
  });

  test("an event about an object in a namespace stands in that namespace", async (t) => {
    const regarding = { apiVersion: "v1", kind: "Pod", name: "web", namespace: "kube-public" };
    start(t).record(happening("web", { regarding, type: "Normal", reason: "Synced" }));
    await until("it is there", async () => {
      const shown = await plane.kubectl("events", "-n", "kube-public", "--for=pod/web");
      return /Normal +Synced +Pod\/web/.test(shown);
    });
  });

  test("an event of the time when the API server was away is there when it is back", async (t) => {
    const instance = "node-2";
    let dropped = 0;
    const recorder = new EventRecorder({
      client,
      component: "image-cache-agent",
      instance,
      onDropped: (count) => (dropped += count),
      limits: { backoff: { firstMs: 50, maxMs: 500 }, rate: { burst: 100, everyMs: 1_000 } },
    });
    const stop = new AbortController();
    const run = recorder.run(stop.signal);
    t.after(async () => {
      stop.abort();
      await run;
    });
    await plane.stopApiServer("kill");
    recorder.record(happening("worker-4"));
    recorder.record(happening("worker-4"));
    await plane.startApiServer();
    await until("it is there", async () => (await eventsOf("worker-4")).length === 1);
    assert.equal((await eventsOf("worker-4"))[0]?.series?.count, 2);
    assert.equal(dropped, 0);
  });
});
