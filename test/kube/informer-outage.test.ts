/** An informer while things happen to the real API server behind it. */
import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";

import { Client } from "../../src/kube/client.ts";
import { startControlPlane, type ControlPlane } from "../../testbed/control-plane.ts";
import { startTcpLink } from "../../testbed/tcp-link.ts";
import { until } from "../../testbed/until.ts";
import { configMap, configMaps, follow, type Followed } from "./followed.ts";

const namespace = "default";
const userAgent = "outage/0";

describe("an informer", () => {
  let plane: ControlPlane;
  before(async () => {
    plane = await startControlPlane();
  });
  after(async () => {
    await plane.stop();
  });

  /** An informer of its own objects, over an access that follows the authority of the day. */
  async function stage(t: TestContext, of: string, server?: string, silenceMs = 60_000) {
    const writer = new Client({ access: plane.access(), userAgent });
    const access = plane.access(undefined, server);
    const client = new Client({ access, userAgent, timeoutMs: 1_000 });
    t.after(() => {
      writer.close();
      client.close();
    });
    const call = { namespace, signal: t.signal };
    const create = (name: string) =>
      writer.create(configMaps, configMap(namespace, name, "1", { of }), call);
    const remove = (name: string) => writer.delete(configMaps, name, call);
    await create(`${of}-a`);
    const limits = { silenceMs };
    const followed = follow(t, client, { namespace, labelSelector: `of=${of}`, limits });
    await live(followed);
    return { followed, create, remove };
  }

  async function live({ informer }: Followed): Promise<void> {
    await until("it is live", () => informer.synced && informer.live);
  }

  test("goes on after the API server was killed and started again, and repeats nothing", async (t) => {
    const { followed, create } = await stage(t, "killed");
    await plane.stopApiServer("kill");
    await until("it is noticed", () => !followed.informer.live);
    assert.equal(followed.informer.size, 1);
    await plane.startApiServer();
    await live(followed);
    await create("killed-b");
    await until("b is known", () => followed.informer.size === 2);
    assert.deepEqual(followed.said(), ["added killed-a=1", "live added killed-b=1"]);
  });

  test("goes on after the API server was shut down in order", async (t) => {
    const { followed, create } = await stage(t, "stopped");
    await plane.restartApiServer("terminate");
    await until("it is noticed", () => followed.states.some(({ why }) => why !== undefined));
    await live(followed);
    await create("stopped-b");
    await until("b is known", () => followed.informer.size === 2);
    assert.deepEqual(followed.said(), ["added stopped-a=1", "live added stopped-b=1"]);
  });

  test("goes on after the API server stood still for longer than silence may last", async (t) => {
    const { followed, create } = await stage(t, "paused", undefined, 1_500);
    plane.pauseApiServer();
    t.after(() => {
      plane.resumeApiServer();
    });
    await until("it is noticed", () => !followed.informer.live);
    plane.resumeApiServer();
    await create("paused-b");
    await until("b is known", () => followed.informer.size === 2);
    assert.ok(followed.changes.every(({ kind }) => kind === "added"));
  });

  test("goes on with an API server of another certificate and authority", async (t) => {
    const link = await startTcpLink(plane.port);
    t.after(() => link.close());
    const { followed, create } = await stage(t, "certified", link.url);
    await plane.rotateServingCertificate("new");
    // An open watch does not ask for certificates; the next one does.
    await link.cut();
    await until("it is noticed", () => !followed.informer.live);
    await link.restore();
    await live(followed);
    await create("certified-b");
    await until("b is known", () => followed.informer.size === 2);
    assert.deepEqual(followed.said(), ["added certified-a=1", "live added certified-b=1"]);
  });

  test("tells a cluster rebuilt from nothing apart from deletions that it saw", async (t) => {
    const { followed, create, remove } = await stage(t, "wiped");
    await create("wiped-b");
    await until("b is known", () => followed.informer.size === 2);
    await remove("wiped-b");
    await until("b is gone", () => followed.informer.size === 1);
    await plane.wipe();
    await until("all is gone", () => followed.informer.size === 0);
    await live(followed);
    assert.deepEqual(followed.said(), [
      "added wiped-a=1",
      "deleted wiped-a=1",
      "live added wiped-b=1",
      "live deleted wiped-b=1",
    ]);
    await create("wiped-c");
    await until("c is known", () => followed.informer.get("wiped-c") !== undefined);
    assert.deepEqual(followed.changes.at(-1)?.live, true);
  });
});
