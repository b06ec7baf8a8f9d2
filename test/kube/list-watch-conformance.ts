/** What list and watch promise, whatever API server is behind: run against a real and a made one. */
import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";

import type { Access } from "../../src/kube/access.ts";
import { Client } from "../../src/kube/client.ts";
import type { InformerOptions } from "../../src/kube/informer.ts";
import { startTcpLink, type TcpLink } from "../../testbed/tcp-link.ts";
import { until } from "../../testbed/until.ts";
import { configMap, configMaps, follow, keep, type Followed, type Kept } from "./followed.ts";

/** An API server that has ConfigMaps. */
export interface Subject {
  readonly access: Access;
  readonly port: number;
  /** A new and empty one. */
  namespace(): Promise<string>;
  stop(): Promise<void>;
}

const userAgent = "conformance/0";

export function listWatchConformance(name: string, start: () => Promise<Subject>): void {
  describe(`list and watch on ${name}`, () => {
    let subject: Subject;
    let writer: Client;
    before(async () => {
      subject = await start();
      writer = new Client({ access: subject.access, userAgent });
    });
    after(async () => {
      writer.close();
      await subject.stop();
    });
    for (const streamed of [true, false]) {
      describe(streamed ? "streamed lists" : "lists page by page", () => {
        rules({ subject: () => subject, writer: () => writer, streamed });
      });
    }
  });
}

interface Given {
  readonly subject: () => Subject;
  readonly writer: () => Client;
  readonly streamed: boolean;
}

/** One namespace, its writer, and informers on it. */
class Stage {
  readonly namespace: string;
  readonly #t: TestContext;
  readonly #given: Given;

  private constructor(t: TestContext, given: Given, namespace: string) {
    this.namespace = namespace;
    this.#t = t;
    this.#given = given;
  }

  static async open(t: TestContext, given: Given): Promise<Stage> {
    return new Stage(t, given, await given.subject().namespace());
  }

  get signal(): AbortSignal {
    return this.#t.signal;
  }

  async create(name: string, value = "1", labels: Record<string, string> = {}): Promise<void> {
    const object = configMap(this.namespace, name, value, labels);
    await this.#given.writer().create(configMaps, object, this);
  }

  async set(name: string, value: string): Promise<void> {
    await this.#given.writer().patch(configMaps, name, { data: { value } }, this);
  }

  async label(name: string, labels: Record<string, string | null>): Promise<void> {
    await this.#given.writer().patch(configMaps, name, { metadata: { labels } }, this);
  }

  async remove(name: string): Promise<void> {
    await this.#given.writer().delete(configMaps, name, this);
  }

  /** Names and values as a list has them. */
  async list(): Promise<Record<string, string>> {
    const { items } = await this.#given.writer().list(configMaps, this);
    const kept = items.map(keep).sort((a, b) => (a.name < b.name ? -1 : 1));
    return Object.fromEntries(kept.map(({ name, value }) => [name, value]));
  }

  async link(): Promise<TcpLink> {
    const link = await startTcpLink(this.#given.subject().port);
    this.#t.after(() => link.close());
    return link;
  }

  follow(options: Partial<InformerOptions<Kept>> = {}, port?: number): Followed {
    const { access } = this.#given.subject();
    const server = new URL(access.server);
    if (port !== undefined) server.port = String(port);
    const client = new Client({ access: { ...access, server }, userAgent, timeoutMs: 2_000 });
    this.#t.after(() => client.close());
    const { streamed } = this.#given;
    return follow(this.#t, client, { namespace: this.namespace, streamed, ...options });
  }
}

async function live(followed: Followed): Promise<void> {
  await until("the informer is live", () => followed.informer.synced && followed.informer.live);
}

function rules(given: Given): void {
  test("a list of nothing is complete", async (t) => {
    const stage = await Stage.open(t, given);
    const followed = stage.follow();
    await live(followed);
    assert.equal(followed.informer.size, 0);
    assert.deepEqual(followed.changes, []);
  });

  test("what is there is found by the list, and what comes is said by the watch", async (t) => {
    const stage = await Stage.open(t, given);
    await stage.create("a");
    const followed = stage.follow();
    await live(followed);
    await stage.create("b");
    await until("b is known", () => followed.informer.get("b") !== undefined);
    assert.deepEqual(followed.said(), ["added a=1", "live added b=1"]);
  });

  test("an update and a deletion are said by the watch, with what was before", async (t) => {
    const stage = await Stage.open(t, given);
    await stage.create("a");
    const followed = stage.follow();
    await live(followed);
    await stage.set("a", "2");
    await stage.remove("a");
    await until("a is gone", () => followed.informer.size === 0);
    assert.deepEqual(followed.said(), ["added a=1", "live deleted a=2", "live updated a=1>2"]);
  });

  test("an object that is made again is another one", async (t) => {
    const stage = await Stage.open(t, given);
    await stage.create("a");
    const followed = stage.follow();
    await live(followed);
    await stage.remove("a");
    await stage.create("a", "2");
    await until("the second a is known", () => followed.informer.get("a")?.value === "2");
    assert.deepEqual(followed.said(), ["added a=1", "live added a=2", "live deleted a=1"]);
  });

  test("a list of more than a page comes whole, each object once", async (t) => {
    const stage = await Stage.open(t, given);
    const names = Array.from({ length: 1_100 }, (_, index) => `m-${index}`);
    const left = [...names];
    const work = async () => {
      for (let name = left.pop(); name !== undefined; name = left.pop()) await stage.create(name);
    };
    await Promise.all(Array.from({ length: 20 }, work));
    const followed = stage.follow();
    await live(followed);
    assert.equal(followed.informer.size, 1_100);
    assert.deepEqual(followed.changes.map(({ name }) => name).sort(), names.sort());
    assert.ok(followed.changes.every((change) => !change.live));
  });

  test("an object that gets the label is added, and one that loses it is deleted", async (t) => {
    const stage = await Stage.open(t, given);
    await stage.create("a", "1", { app: "x" });
    await stage.create("b", "1", { app: "y" });
    const followed = stage.follow({ labelSelector: "app=x" });
    await live(followed);
    await stage.label("b", { app: "x" });
    await stage.label("a", { app: null });
    await until("only b is known", () => Object.keys(followed.state()).join() === "b");
    assert.deepEqual(followed.said(), ["added a=1", "live added b=1", "live deleted a=1"]);
  });

  test("a field selector keeps one object, and nothing of the others", async (t) => {
    const stage = await Stage.open(t, given);
    await stage.create("a");
    await stage.create("b");
    const followed = stage.follow({ fieldSelector: "metadata.name=b" });
    await live(followed);
    await stage.set("a", "2");
    await stage.set("b", "2");
    await until("b is updated", () => followed.informer.get("b")?.value === "2");
    assert.deepEqual(followed.said(), ["added b=1", "live updated b=1>2"]);
  });

  test("objects of all namespaces are called namespace/name", async (t) => {
    const stage = await Stage.open(t, given);
    await stage.create("a");
    const followed = stage.follow({ namespace: undefined, labelSelector: `of=${stage.namespace}` });
    await live(followed);
    await stage.label("a", { of: stage.namespace });
    const name = `${stage.namespace}/a`;
    await until("it is known", () => followed.informer.get(name) !== undefined);
    assert.deepEqual(followed.said(), [`live added ${name}=1`]);
  });

  test("a watch whose time is over is resumed: nothing is missed, and nothing is listed again", async (t) => {
    const stage = await Stage.open(t, given);
    await stage.create("a", "0");
    const limits = { leastTimeoutSeconds: 1, mostTimeoutSeconds: 1, earlyMs: 300 };
    const followed = stage.follow({ limits });
    await live(followed);
    let value = 0;
    await until("three watches were opened", async () => {
      value += 1;
      await stage.set("a", String(value));
      return followed.asked.watch >= 3 + (given.streamed ? 0 : 1);
    });
    await until("all is known", () => followed.informer.get("a")?.value === String(value));
    const updates = followed.changes.filter((change) => change.kind === "updated");
    assert.deepEqual(
      updates.map(({ now }) => Number(now.value)),
      Array.from({ length: value }, (_, index) => index + 1),
    );
    assert.ok(updates.every((change) => change.live));
    assert.equal(followed.asked.pages, given.streamed ? 0 : 1);
    assert.ok(followed.states.every(({ why }) => why === undefined));
  });

  test("what happened while the connection was cut is found by comparing with a list", async (t) => {
    const stage = await Stage.open(t, given);
    const link = await stage.link();
    for (const name of ["gone", "changed", "same", "again"]) await stage.create(name);
    const followed = stage.follow({}, link.port);
    await live(followed);
    followed.changes.length = 0;
    await link.cut();
    await until("the cut is noticed", () => !followed.informer.live);
    assert.equal(followed.informer.size, 4);
    await stage.remove("gone");
    await stage.set("changed", "2");
    await stage.remove("again");
    await stage.create("again");
    await stage.create("new");
    await link.restore();
    await live(followed);
    assert.deepEqual(followed.said(), [
      "added again=1",
      "added new=1",
      "deleted again=1",
      "deleted gone=1",
      "updated changed=1>2",
    ]);
    assert.deepEqual(followed.state(), await stage.list());
  });

  test("a connection that is silent is dead, and what it did not say is found by a list", async (t) => {
    const stage = await Stage.open(t, given);
    const link = await stage.link();
    await stage.create("a");
    const followed = stage.follow({ limits: { silenceMs: 3_000 } }, link.port);
    await live(followed);
    await link.hang();
    await stage.set("a", "2");
    await until("the silence is noticed", () => !followed.informer.live);
    assert.match(followed.states.at(-1)?.why?.message ?? "", /no byte came for 3 s/);
    await link.restore();
    await until("the update is known", () => followed.informer.get("a")?.value === "2");
    assert.ok(followed.said().includes("updated a=1>2"));
  });

  test("an API server that comes later is followed then", async (t) => {
    const stage = await Stage.open(t, given);
    const link = await stage.link();
    await stage.create("a");
    await link.cut();
    const followed = stage.follow({}, link.port);
    await until("it has failed twice", () => followed.states.length >= 2);
    assert.equal(followed.informer.synced, false);
    assert.match(followed.states.at(-1)?.why?.message ?? "", /connection refused/);
    await link.restore();
    await live(followed);
    assert.deepEqual(followed.said(), ["added a=1"]);
  });

  test("whatever is written and cut, in the end what is known is what is there", async (t) => {
    const stage = await Stage.open(t, given);
    const link = await stage.link();
    const limits = { leastTimeoutSeconds: 1, mostTimeoutSeconds: 1, earlyMs: 300 };
    const followed = stage.follow({ limits }, link.port);
    for (let turn = 1; turn <= 240; turn += 1) {
      const name = `n-${(turn * 7) % 11}`;
      const there = name in (await stage.list());
      if (!there) await stage.create(name, String(turn));
      else if (turn % 3 === 0) await stage.remove(name);
      else await stage.set(name, String(turn));
      if (turn % 40 === 20) await link.cut();
      if (turn % 40 === 30) await link.restore();
    }
    await live(followed);
    const there = JSON.stringify(await stage.list());
    await until("all is known", () => JSON.stringify(followed.state()) === there);
  });

  test("a stop ends it at once, and what is known stays", async (t) => {
    const stage = await Stage.open(t, given);
    await stage.create("a");
    const followed = stage.follow();
    await live(followed);
    await followed.stop();
    assert.equal(followed.informer.live, false);
    assert.equal(followed.informer.size, 1);
    assert.deepEqual(followed.states.at(-1), { synced: true, live: false });
  });
}
