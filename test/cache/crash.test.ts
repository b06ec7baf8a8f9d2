import assert from "node:assert/strict";
import { test } from "node:test";

import { Store } from "../../src/cache/store.ts";
import { verifyCache } from "../../src/cache/verify.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { startChild } from "./child.ts";
import { entriesOf, fill, filesImage } from "./fixture.ts";

const files = Object.fromEntries(
  Array.from({ length: 40 }, (_, index) => [`f${index}`, `${index}`.repeat(index * 500)]),
);
const signal = new AbortController().signal;

test("a killed run's directory is swept at once: nobody waits for it", async (t) => {
  const path = await tempDirectory(t);
  const child = startChild(t, { action: "fill", path, name: "app", files, forever: true });
  await child.saw("opened");
  await child.kill();
  let waited = false;
  const onWait = (): void => {
    waited = true;
  };
  await fill(path, filesImage(files), { onWait, force: true });
  assert.equal(waited, false);
});

test("two processes at once for one name: one fills, the other waits and finds the work done", async (t) => {
  const path = await tempDirectory(t);
  const request = { action: "fill", path, name: "app", files } as const;
  const children = [startChild(t, request), startChild(t, request), startChild(t, request)];
  const outcomes = await Promise.all(children.map((child) => child.outcome()));
  const results = outcomes.map((outcome) => ("result" in outcome ? outcome.result : outcome.event));
  assert.deepEqual(results.sort(), ["complete", "complete", "pulled"]);
  assert.deepEqual(await entriesOf(path), ["app"]);
});

test("a live run of another process is never swept, and is waited for until it dies", async (t) => {
  const path = await tempDirectory(t);
  const child = startChild(t, { action: "hold", path, name: "app", files });
  await child.saw("opened");
  const store = await Store.open(path);
  for (let sweep = 0; sweep < 5; sweep += 1) {
    const removed = await store.collect({ mayRemove: () => false });
    assert.deepEqual(removed, []);
  }
  const waits: string[] = [];
  const onWait = (message: string): void => {
    waits.push(message);
    void child.kill();
  };
  assert.equal((await fill(path, filesImage(files), { onWait })).result, "pulled");
  assert.equal(waits.length, 1);
  assert.deepEqual(await entriesOf(path), ["app"]);
});

test("a live run is told from a dead one across containers", async (t) => {
  const path = await tempDirectory(t);
  const apart = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
  let container: ReturnType<typeof startChild> | undefined;
  await fill(path, async () => {
    const request = { action: "fill", path, name: "app", files } as const;
    container = startChild(t, request, apart);
    await container.saw("waiting");
    return filesImage(files);
  });
  const outcome = await container?.outcome();
  assert.deepEqual(outcome, { event: "done", result: "complete" });
});

test("many processes that fill one name and get killed spoil neither the content nor each other's work", async (t) => {
  const path = await tempDirectory(t);
  const request = { action: "fill", path, name: "app", files, forever: true } as const;
  const children = [startChild(t, request), startChild(t, request), startChild(t, request)];
  await Promise.all(children.map((child) => child.saw("ready")));
  for (let kill = 0; kill < 9; kill += 1) {
    const turn = kill % children.length;
    await children[turn]?.kill();
    const next = startChild(t, request);
    children[turn] = next;
    const [verdict] = await verifyCache(path, { name: "app", deep: true, signal });
    assert.ok(["complete", "absent"].includes(verdict?.state ?? ""), JSON.stringify(verdict));
    await next.saw("ready");
    for (const child of children) assert.equal(child.failure(), undefined);
  }
  await Promise.all(children.map((child) => child.kill()));
  await (await Store.open(path)).sweep();
  assert.deepEqual(await entriesOf(path), ["app"]);
});
