/** What nobody does on purpose, and a node sees all the same. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { runCommand } from "../../testbed/command.ts";
import { makeDisk, mountDisk } from "../../testbed/loop-disk.ts";
import { startTcpLink } from "../../testbed/tcp-link.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { prefix, Suite, type World } from "./world.ts";

const suite = await Suite.start();

const cachesUrl = "/apis/image-cache.scality.com/v1alpha1/imagecaches";
const memoryName = ".larder-agent.json";

/** A world whose many resources go in one request: kubectl takes a fifth of a second for each. */
async function worldOfMany(t: TestContext): Promise<World> {
  t.after(async () => suite.plane.ask(cachesUrl, { method: "DELETE" }));
  return suite.world(t);
}

/** Applies `many-0` and so on, some at a time. */
async function applyMany(
  world: World,
  count: number,
  source: (index: number) => string,
): Promise<void> {
  for (let first = 0; first < count; first += 20) {
    const indices = Array.from({ length: Math.min(20, count - first) }, (_, n) => first + n);
    await Promise.all(
      indices.map(async (index) => world.apply(`many-${index}`, { source: source(index) })),
    );
  }
}

test("hundreds of resources that cannot be pulled make a handful of passes, and a good one comes through", async (t) => {
  const world = await worldOfMany(t);
  const count = 200;
  await applyMany(world, count, (index) => `${suite.registry.host}/absent-${index}:1`);
  const agent = world.start();
  await until("each was tried", () => agent.said("a pull failed").length >= count);
  const passes = await agent.metric('larder_passes_total{result="succeeded"}');
  assert.ok(passes < count / 4, `${passes} passes`);
  const source = await suite.push("among-bad", "1", { "g.tar": "good" });
  await world.apply("good", { source });
  await world.says("good", "synced");
});

test("hundreds of resources at once are each pulled once", async (t) => {
  const world = await worldOfMany(t);
  const count = 100;
  const source = await suite.push("among-good", "1", { "g.tar": "good" });
  await applyMany(world, count, () => source);
  const agent = world.start(["--max-parallel-pulls=8"]);
  await until("all are synced", async () => {
    const labels = Object.entries(await world.labels());
    return labels.filter(([k, v]) => k.startsWith(prefix) && v === "synced").length === count;
  });
  assert.equal(agent.said("a pull starts").length, count);
});

test("a memory that somebody removes is written again by the next pass", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("forgetful", "1", { "f.tar": "f" });
  world.start(["--resync-period=300ms"]);
  await world.apply("forgetful", { source });
  await world.says("forgetful", "synced");
  const file = world.path(memoryName);
  await until("it is remembered", () => remembers(file, "forgetful"));
  for (const entry of await readdir(world.cachePath)) await world.delete(entry);
  await until("it is remembered again", () => remembers(file, "forgetful"));
  await world.holds("forgetful", "f.tar", "f");
});

test("a cache path that is mounted only after the start keeps its memory while the API server is away", async (t) => {
  const world = await suite.world(t);
  const link = await startTcpLink(world.plane.port);
  t.after(async () => link.close());
  const kubeconfig = await world.plane.writeKubeconfig(world.plane.adminToken, link.url);
  const source = await suite.push("late", "1", { "l.tar": "late" });
  const first = world.start([], { kubeconfig });
  await world.apply("late", { source });
  await world.says("late", "synced");
  await until("it is remembered", () => remembers(world.path(memoryName), "late"));
  await first.stop();
  await link.cut();
  const elsewhere = `${world.cachePath}.elsewhere`;
  await rename(world.cachePath, elsewhere);
  const second = world.start(["--resync-period=300ms"], { kubeconfig });
  await second.says("a pass met a problem");
  await rm(join(elsewhere, "late", "l.tar"));
  await rename(elsewhere, world.cachePath);
  await world.holds("late", "l.tar", "late");
  assert.ok(remembers(world.path(memoryName), "late"));
});

function remembers(file: string, name: string): boolean {
  const text = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
  return text.includes(`"name": "${name}"`);
}

test("whatever takes the place of a file or of the sentinel is replaced, and nothing is written through it", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("replaced", "1", { "r.tar": "whole content" });
  world.start(["--resync-period=0", "--max-parallel-pulls=4"]);
  const victim = join(await tempDirectory(t), "victim");
  await writeFile(victim, "not a cached one");
  const sentinel = ".image-cache-agent.json";
  const replacements: Readonly<Record<string, readonly [string, (path: string) => unknown]>> = {
    pipe: ["r.tar", async (path) => runCommand("mkfifo", [path])],
    directory: ["r.tar", async (path) => mkdir(join(path, "in"), { recursive: true })],
    "symbolic-link": ["r.tar", (path) => fs.symlinkSync(victim, path)],
    "hard-link": ["r.tar", (path) => fs.linkSync(victim, path)],
    sparse: ["r.tar", async (path) => runCommand("truncate", ["--size=13", path])],
    device: ["r.tar", async (path) => runCommand("mknod", [path, "c", "1", "3"])],
    "sentinel-pipe": [sentinel, async (path) => runCommand("mkfifo", [path])],
    "sentinel-directory": [sentinel, async (path) => mkdir(path)],
    "sentinel-huge": [sentinel, async (path) => runCommand("truncate", ["--size=8G", path])],
    "sentinel-deep": [sentinel, async (path) => writeFile(path, "[".repeat(100_000))],
    "sentinel-outside": [
      sentinel,
      async (path) => writeFile(path, JSON.stringify({ digest: "sha256:0", files: [victim] })),
    ],
  };
  const names = Object.keys(replacements);
  for (const name of names) await world.apply(name, { source });
  for (const name of names) await world.says(name, "synced");
  for (const [name, [file, replace]] of Object.entries(replacements)) {
    await world.delete(name, file);
    await replace(world.path(name, file));
  }
  for (const name of names) {
    await until(`${name} is repaired`, () => {
      const paths = [world.path(name, "r.tar"), world.path(name, sentinel)];
      const found = paths.map((path) => fs.lstatSync(path, { throwIfNoEntry: false }));
      // Not read before it is a file: a pipe would never end.
      return (
        found.every((each) => each?.isFile() && each.size < 4096) &&
        fs.readFileSync(paths[0] ?? "", "utf8") === "whole content"
      );
    });
    await world.says(name, "synced");
  }
  assert.equal(fs.readFileSync(victim, "utf8"), "not a cached one");
  assert.deepEqual(await world.entries(), names.toSorted());
});

test("cache paths that cannot be one stay pending with an event each, and hold up no good one", async (t) => {
  const world = await suite.world(t);
  const dir = await tempDirectory(t);
  await writeFile(join(dir, "file"), "");
  await mkdir(join(dir, "real"));
  fs.symlinkSync(join(dir, "real"), join(dir, "link"));
  await runCommand("mkfifo", [join(dir, "pipe")]);
  const paths = {
    file: join(dir, "file"),
    link: join(dir, "link"),
    pipe: join(dir, "pipe"),
    below: join(dir, "file", "x"),
    absent: join(dir, "absent"),
    "too-long": `/${"a/".repeat(511)}`,
  };
  const source = await suite.push("odd", "1", { "o.tar": "o" });
  const agent = world.start(["--resync-period=300ms"]);
  for (const [name, cachePath] of Object.entries(paths)) {
    await world.apply(name, { source, cachePath });
  }
  await world.apply("spelt", { source, cachePath: `/${world.cachePath}/./` });
  await world.says("spelt", "synced");
  for (const name of Object.keys(paths)) {
    assert.match(await world.event(name, "CachePathUnavailable"), /^cannot use the cache path /);
    await world.says(name, "pending");
  }
  assert.deepEqual(await readdir(join(dir, "real")), []);
  await mkdir(paths.absent);
  await world.says("absent", "synced");
  assert.equal(agent.stderr, "");
});

test("a cache path that cannot be written any more says why, and is repaired once it can", async (t) => {
  const world = await suite.world(t);
  const file = join(await tempDirectory(t), "disk");
  await makeDisk(file, "ext4");
  const disk = await mountDisk(file, "ext4");
  t.after(async () => disk.close());
  const source = await suite.push("frozen", "1", { "f.tar": "f" });
  const next = await suite.push("frozen", "2", { "f.tar": "next" });
  const agent = world.start(["--resync-period=300ms"]);
  const hindrances = [
    ["immutable", /immutable attribute: .*chattr -i/, ["chattr", "+i"], ["chattr", "-i"]],
    [
      "read-only",
      /read-only file system: mount it read-write/,
      ["mount", "-o", "remount,ro"],
      ["mount", "-o", "remount,rw"],
    ],
  ] as const;
  for (const [name] of hindrances) await world.apply(name, { source, cachePath: disk.path });
  for (const [name] of hindrances) await world.says(name, "synced");
  for (const [name, why, [program, ...begin], [, ...end]] of hindrances) {
    await runCommand(program, [...begin, disk.path]);
    await world.apply(name, { source: next, cachePath: disk.path });
    await world.says(name, "pending");
    assert.match(await world.event(name, "CachePathUnavailable"), why);
    assert.equal(fs.readFileSync(join(disk.path, name, "f.tar"), "utf8"), "f");
    await runCommand(program, [...end, disk.path]);
    await world.says(name, "synced");
    assert.equal(fs.readFileSync(join(disk.path, name, "f.tar"), "utf8"), "next");
  }
  await agent.stop();
});

test("resources that come and go faster than they can be pulled leave nothing", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("churn", "1", { "c.tar": Buffer.alloc(300_000, 1) });
  world.start(["--gc-delay=0", "--gc-delay-missing=0"]);
  await world.apply("stays", { source });
  for (let round = 0; round < 100; round++) {
    const name = `churn-${round % 10}`;
    await world.apply(name, { source });
    if (round % 3 > 0)
      await until("it began", async () => (await world.labels())[prefix + name] !== undefined);
    await world.remove(name);
  }
  await until("only what stays is there", async () => {
    const labels = Object.keys(await world.labels()).filter((label) => label.startsWith(prefix));
    return labels.length === 1 && (await world.entries()).join() === "stays";
  });
  await world.says("stays", "synced");
});

test("a writer that fights over the labels loses once it stops, and the files stay as they are", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("fought", "1", { "f.tar": "f" });
  const agent = world.start();
  await world.apply("fought", { source });
  await world.says("fought", "synced");
  for (let round = 0; round < 100; round++) {
    await world.label({
      [`${prefix}fought`]: round % 2 === 0 ? "nonsense" : null,
      [`${prefix}nobodys`]: "synced",
    });
  }
  await world.says("fought", "synced");
  await world.says("nobodys", undefined);
  assert.equal(agent.said("a pull starts").length, 1);
});
