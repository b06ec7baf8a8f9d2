import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { entriesOf, fill, filesImage } from "../../test/cache/fixture.ts";
import { cacheSpec } from "../../testbed/cache-spec.ts";
import { HandClock } from "../../testbed/hand-clock.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import type { Removed } from "../cache/collect.ts";
import { Store } from "../cache/store.ts";
import type { CacheSpec, NodeFacts } from "./cache-spec.ts";
import type { Declared } from "./declared.ts";
import { withSeen } from "./orphans.ts";
import { pass, type PassTools } from "./pass.ts";
import type { Job } from "./pulls.ts";
import { Recollection } from "./recollection.ts";

const image = filesImage({ "a.tar": "alpha" });
const signal = new AbortController().signal;
const node: NodeFacts = { name: "n", uid: "u", resourceVersion: "1", labels: {} };
const state = ".larder-agent.json";

/** A node with one real cache path; what a pass asks for is written down. */
async function passing(t: TestContext) {
  const path = await tempDirectory(t);
  const clock = new HandClock();
  const recollection = new Recollection(() => Store.open(path));
  const steps: string[] = [];
  const jobs: Job[] = [];
  const removed: Removed[] = [];
  const watched: (readonly [path: string, names: readonly string[]])[] = [];
  const resource = (name: string, given: Partial<CacheSpec> = {}): CacheSpec =>
    cacheSpec({ name, cachePath: path, ...given });
  const desired: CacheSpec[] = [];
  const said = (given: Partial<Declared> = {}): Declared => ({
    desired: [...desired],
    paths: desired.map(({ cachePath }) => cachePath),
    node,
    current: true,
    ...given,
  });
  const put = (cache: CacheSpec, owner: "image-cache-agent" | "imagecachectl") =>
    fill(cache.cachePath, image, { name: cache.name, owner, source: cache.source });
  const run = (given: Partial<PassTools> = {}) =>
    pass(
      {
        declared: () => said(),
        defaultPath: path,
        open: (where) => Store.open(where),
        recollection,
        damaged: new Map(),
        moved: new Set(),
        delays: { seenMs: 10_000, missingMs: 100_000 },
        watch: (wanted) => {
          watched.splice(
            0,
            Infinity,
            ...[...wanted].map(([where, names]) => [where, [...names]] as const),
          );
        },
        label: async (_to, labels) => {
          steps.push(`labels ${[...labels].join(" ")}`);
        },
        pull: (wanted) => {
          jobs.splice(0, Infinity, ...wanted);
          steps.push(`pulls ${wanted.map(({ cache }) => cache.name).join(" ")}`);
        },
        notBefore: () => 77,
        removed: (_path, gone) => {
          removed.push(...gone);
        },
        clock,
        ...given,
      },
      signal,
    );
  return {
    path,
    clock,
    recollection,
    steps,
    jobs,
    removed,
    watched,
    resource,
    desired,
    said,
    put,
    run,
  };
}

test("what is complete is synced; the rest is pending before its pull starts", async (t) => {
  const { desired, resource, put, run, steps, jobs } = await passing(t);
  desired.push(resource("a"), resource("b"));
  await put(resource("a"), "image-cache-agent");
  const { problems } = await run();
  assert.deepEqual(steps, ["labels a,synced b,pending", "pulls b"]);
  assert.deepEqual(jobs, [
    { cache: resource("b"), force: false, because: "absent: nothing stands there", notBefore: 77 },
  ]);
  assert.deepEqual(problems, []);
});

test("a directory that the command line filled is adopted, and read by the next pass as the agent's", async (t) => {
  const { desired, resource, put, run, path } = await passing(t);
  desired.push(resource("a"));
  await put(resource("a"), "imagecachectl");
  const { plan } = await run();
  assert.deepEqual(plan.adopt, desired);
  assert.match(
    fs.readFileSync(join(path, "a/.image-cache-agent.json"), "utf8"),
    /"image-cache-agent"/,
  );
  assert.deepEqual((await run()).plan.adopt, []);
});

test("a directory whose deletion was seen goes after one delay, one that is missing after the other", async (t) => {
  const { resource, put, run, clock, path, recollection, removed } = await passing(t);
  for (const name of ["seen", "missing"]) await put(resource(name), "image-cache-agent");
  await run();
  const { memory } = recollection;
  recollection.set({
    ...memory,
    orphans: withSeen(memory.orphans, resource("seen"), clock.date()),
  });
  await clock.pass(9_999);
  assert.equal((await run()).plan.nextDueMs, 1);
  await clock.pass(1);
  await run();
  assert.deepEqual(await entriesOf(path), [state, "missing"]);
  await clock.pass(90_000);
  await run();
  assert.deepEqual(await entriesOf(path), [state]);
  assert.deepEqual(
    removed.map(({ name }) => name),
    ["seen", "missing"],
  );
});

test("the times of orphans survive the agent", async (t) => {
  const { resource, put, run, clock, path } = await passing(t);
  await put(resource("old"), "image-cache-agent");
  await run();
  await clock.pass(100_000);
  const next = new Recollection(() => Store.open(path));
  await next.load();
  await run({ recollection: next });
  assert.deepEqual(await entriesOf(path), [state]);
});

test("what is only remembered is repaired; nothing is collected, labelled for, or remembered anew", async (t) => {
  const { resource, put, run, clock, path, recollection, said, jobs } = await passing(t);
  await put(resource("old"), "image-cache-agent");
  const a = resource("a");
  recollection.set({ paths: [], desired: [a], orphans: [] });
  const declared = () => said({ desired: [a], node: undefined, current: false });
  await run({ declared });
  await clock.pass(1_000_000);
  await run({ declared });
  assert.deepEqual(await entriesOf(path), [state, "old"]);
  assert.deepEqual(
    jobs.map(({ cache }) => cache),
    [a],
  );
  assert.deepEqual(recollection.memory.desired, [a]);
  assert.deepEqual(recollection.memory.orphans, []);
});

test("a deletion that is seen while a pass looks at the disk is still a seen one afterwards", async (t) => {
  const { desired, resource, put, run, path, recollection, clock } = await passing(t);
  const a = resource("a");
  desired.push(a);
  await put(a, "image-cache-agent");
  let told = false;
  const open = async (where: string): Promise<Store> => {
    if (!told) {
      told = true;
      desired.length = 0;
      const { memory } = recollection;
      recollection.set({ ...memory, orphans: withSeen(memory.orphans, a, clock.date()) });
    }
    return Store.open(where);
  };
  await run({ open });
  await run();
  assert.deepEqual(recollection.memory.orphans, [
    { cachePath: path, name: "a", since: clock.date(), seen: true },
  ]);
});

test("a resource that comes back while its directory is about to go keeps it", async (t) => {
  const { desired, resource, put, run, clock, path, removed } = await passing(t);
  await put(resource("a"), "image-cache-agent");
  await run();
  await clock.pass(100_000);
  await run({
    label: async () => {
      desired.push(resource("a"));
    },
  });
  assert.deepEqual(await entriesOf(path), [state, "a"]);
  assert.deepEqual(removed, []);
});

test("nothing goes when the API server is lost while a directory is about to", async (t) => {
  const { resource, put, run, clock, path, said } = await passing(t);
  await put(resource("a"), "image-cache-agent");
  await run();
  await clock.pass(100_000);
  let current = true;
  await run({
    declared: () => said({ current }),
    label: async () => {
      current = false;
    },
  });
  assert.deepEqual(await entriesOf(path), [state, "a"]);
});

test("a cache path that is not there holds up nothing, and is watched for", async (t) => {
  const { desired, resource, put, run, path, steps, watched } = await passing(t);
  const gone = join(path, "gone");
  desired.push(resource("a"), resource("b", { cachePath: gone }));
  await put(resource("a"), "image-cache-agent");
  const { problems, scanned } = await run();
  assert.deepEqual(steps, ["labels a,synced b,pending", "pulls b"]);
  assert.deepEqual(problems, []);
  assert.deepEqual(scanned, [path]);
  assert.deepEqual(watched, [
    [path, ["a"]],
    [gone, ["b"]],
  ]);
});

test("a directory is watched before it is looked at, so that what is called complete is watched", async (t) => {
  const { desired, resource, put, run, path, watched } = await passing(t);
  desired.push(resource("a"));
  await put(resource("a"), "image-cache-agent");
  const { plan } = await run({
    watch: (wanted) => {
      watched.push(...[...wanted].map(([where, names]) => [where, [...names]] as const));
      fs.truncateSync(join(path, "a", "a.tar"), 1);
    },
  });
  assert.equal(plan.labels.get("a"), "pending");
});

test("a cache path that was seen earlier is scanned still, and what is there is collected", async (t) => {
  const { desired, resource, put, run, clock, said } = await passing(t);
  const other = await tempDirectory(t);
  const b = resource("b", { cachePath: other });
  desired.push(b);
  await put(b, "image-cache-agent");
  await run();
  const declared = () => said({ desired: [], paths: [] });
  await run({ declared });
  await clock.pass(100_000);
  await run({ declared });
  assert.deepEqual(await entriesOf(other), []);
});

test("each step is tried whatever became of the one before, and what failed is told", async (t) => {
  const { desired, resource, put, run, path, steps } = await passing(t);
  desired.push(resource("a"));
  await put(resource("old"), "image-cache-agent");
  fs.mkdirSync(join(path, state));
  const { problems } = await run({ delays: { seenMs: 0, missingMs: 0 } });
  assert.equal(problems.length, 1);
  assert.match(problems[0]?.message ?? "", /^cannot keep the agent's state below /);
  assert.deepEqual(steps, ["labels a,pending", "pulls a"]);
  assert.deepEqual(await entriesOf(path), [state]);
});

test("a fault of Larder's own ends the pass", async (t) => {
  const { run } = await passing(t);
  const fault = new TypeError("no such method");
  const label = async (): Promise<void> => {
    throw fault;
  };
  await assert.rejects(run({ label }), fault);
});
