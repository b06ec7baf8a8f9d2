/** What happens on a node's disk, and what the agent makes of it. */
import assert from "node:assert/strict";
import {
  chmod,
  mkdir,
  open,
  readFile,
  rename,
  stat,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { test } from "node:test";

import { until } from "../../testbed/until.ts";
import { Suite } from "./world.ts";

const suite = await Suite.start();

/** Repairs come by file-system events: no resync helps. */
const eventsOnly = ["--resync-period=0"];

/** In place: a file that is cut first is of another size for a moment, and repaired for that. */
async function overwrite(file: string, content: string): Promise<void> {
  await using handle = await open(file, "r+");
  await handle.write(content, 0);
}

test("a tarball that is deleted, truncated or overwritten comes back within seconds", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("heal", "1", { "h.tar": "whole content" });
  const agent = world.start(eventsOnly);
  await world.apply("heal", { source });
  await world.says("heal", "synced");
  const file = world.path("heal", "h.tar");
  const breaks: (() => Promise<void>)[] = [
    async () => world.delete("heal", "h.tar"),
    async () => truncate(file, 5),
    async () => writeFile(file, "other content"),
    async () => rename(file, world.path("heal", "elsewhere.tar")),
    async () => world.delete("heal"),
    async () => writeFile(world.path("heal", ".image-cache-agent.json"), "{"),
  ];
  for (const [index, damage] of breaks.entries()) {
    await damage();
    await agent.says("an image cache is synced", index + 2);
    await world.holds("heal", "h.tar", "whole content");
    await world.says("heal", "synced");
  }
  assert.deepEqual(await world.entries(), ["heal"]);
});

test("a file that is touched but whole is not pulled again", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("touched", "1", { "t.tar": "content" });
  const agent = world.start(eventsOnly);
  await world.apply("touched", { source });
  await world.says("touched", "synced");
  const file = world.path("touched", "t.tar");
  await utimes(file, 0, 0);
  await chmod(file, 0o600);
  await overwrite(file, "content");
  // Damage that comes later is found: by then the touch was judged.
  await overwrite(file, "CONTENT");
  await agent.says("a file is damaged");
  await world.holds("touched", "t.tar", "content");
  assert.equal(agent.said("a file is damaged").length, 1);
  assert.equal(agent.said("a pull starts").length, 2);
});

test("a sentinel of an older agent, without sums, is judged by what it has", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("older", "1", { "o.tar": "content" });
  const first = world.start(eventsOnly);
  await world.apply("older", { source });
  await world.says("older", "synced");
  await first.stop();
  const sentinel = world.path("older", ".image-cache-agent.json");
  const { digest, files } = JSON.parse(await readFile(sentinel, "utf8")) as Record<string, unknown>;
  await writeFile(sentinel, JSON.stringify({ digest, files }));
  const agent = world.start(eventsOnly);
  await agent.says("listening");
  await world.says("older", "synced");
  await world.delete("older", "o.tar");
  await world.holds("older", "o.tar", "content");
  assert.equal(agent.said("a pull starts").length, 1);
});

test("a bad resource never holds up a good one, and its event says in one sentence what to do", async (t) => {
  const world = await suite.world(t);
  const good = await suite.push("good", "1", { "g.tar": "g" });
  const refused = await suite.push("refused", "1", { "a/x.tar": "1", "b/x.tar": "2" });
  await mkdir(world.path("foreign"));
  await writeFile(world.path("foreign", "mine.txt"), "mine");
  world.start();
  await world.apply("unpullable", { source: `${suite.registry.host}/nothing:here` });
  await world.apply("unreachable", { source: "127.0.0.1:1/nothing:here" });
  await world.apply("refused", { source: refused });
  await world.apply("unmounted", { source: good, cachePath: "/nowhere/image-cache" });
  await world.apply("foreign", { source: good });
  await world.apply("good", { source: good });
  await world.says("good", "synced");
  for (const name of ["unpullable", "unreachable", "refused", "unmounted", "foreign"]) {
    await world.says(name, "pending");
  }
  assert.match(await world.event("unpullable", "SyncFailed"), /: .+: .+/);
  assert.match(await world.event("refused", "SyncFailed"), /a\/x\.tar.*b\/x\.tar/);
  assert.match(
    await world.event("unmounted", "CachePathUnavailable"),
    /\/nowhere\/image-cache.*does not exist/,
  );
  assert.match(await world.event("foreign", "SyncFailed"), /by hand/);
  assert.equal(await readFile(world.path("foreign", "mine.txt"), "utf8"), "mine");
});

test("what stood in the way and is removed by hand is noticed at once", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("way", "1", { "w.tar": "w" });
  await mkdir(world.path("way"));
  const agent = world.start(eventsOnly);
  await world.apply("way", { source });
  await world.event("way", "SyncFailed");
  await world.delete("way");
  await world.says("way", "synced");
  assert.ok(agent.said("a pull failed").length >= 1);
});

test("no room: the event says how much is missing, and the others converge", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("room", "1", { "r.tar": "r" });
  const agent = world.start(["--min-free=1000000G"]);
  await world.apply("room", { source });
  const note = await world.event("room", "InsufficientDisk");
  assert.match(note, /free at least [\d.]+ \w+/);
  await world.says("room", "pending");
  assert.deepEqual(await world.entries(), []);
  await agent.stop();
  world.start();
  await world.says("room", "synced");
});

test("what larder import filled is adopted, and from then on the agent's to collect", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("adopted", "1", { "a.tar": "a" });
  const agent = world.start(["--gc-delay=0"]);
  await world.apply("adopted", { source });
  await world.says("adopted", "synced");
  await agent.stop();
  const sentinel = world.path("adopted", ".image-cache-agent.json");
  const text = await readFile(sentinel, "utf8");
  await writeFile(sentinel, text.replace('"image-cache-agent"', '"imagecachectl"'));
  await world.remove("adopted");
  const second = world.start(["--gc-delay=0", "--gc-delay-missing=0"]);
  await second.says("listening");
  await world.says("adopted", undefined);
  await world.apply("adopted", { source });
  await world.says("adopted", "synced");
  await until("it is adopted", async () =>
    (await readFile(sentinel, "utf8")).includes('"image-cache-agent"'),
  );
  assert.equal(second.said("a pull starts").length, 0);
  await world.remove("adopted");
  await until("it is collected", async () => (await world.entries()).length === 0);
});

test("collection leaves flat files, foreign directories and those of imagecachectl alone", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("gc", "1", { "g.tar": "g" });
  const first = world.start();
  await world.apply("gc", { source });
  await world.says("gc", "synced");
  await first.stop();
  await writeFile(world.path("flat.tar"), "flat");
  await mkdir(world.path("foreign"));
  await mkdir(world.path("ctl"));
  const sentinel = await readFile(world.path("gc", ".image-cache-agent.json"), "utf8");
  await writeFile(
    world.path("ctl", ".image-cache-agent.json"),
    sentinel.replace('"image-cache-agent"', '"imagecachectl"'),
  );
  await mkdir(world.path(".gc.tmp-0000000000000000"));
  await world.remove("gc");
  world.start(["--gc-delay=0", "--gc-delay-missing=0"]);
  await until(
    "the orphan and the leftover are gone",
    async () => (await world.entries()).length === 3,
  );
  assert.deepEqual(await world.entries(), ["ctl", "flat.tar", "foreign"]);
});

test("a moved tag is noticed at a resync, by one HEAD a resource, and only with --follow-tags", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("moving", "latest", { "m.tar": "content 1" });
  const without = world.start(["--resync-period=300ms"]);
  await world.apply("moving", { source });
  await world.says("moving", "synced");
  await suite.push("moving", "latest", { "m.tar": "content 2" });
  const passes = await without.metric('larder_passes_total{result="succeeded"}');
  await until(
    "three resyncs",
    async () => (await without.metric('larder_passes_total{result="succeeded"}')) > passes + 3,
  );
  assert.equal(await world.read("moving", "m.tar"), "content 1");
  await without.stop();
  world.start(["--resync-period=300ms", "--follow-tags"]);
  await world.holds("moving", "m.tar", "content 2");
  await world.says("moving", "synced");
});

test("the memory is readable by its owner alone and holds what this node had to have", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("memory", "1", { "m.tar": "m" });
  world.start();
  await world.apply("memory", { source });
  await world.says("memory", "synced");
  const file = world.path(".larder-agent.json");
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const memory = JSON.parse(await readFile(file, "utf8")) as { desired: { name: string }[] };
  assert.deepEqual(
    memory.desired.map(({ name }) => name),
    ["memory"],
  );
});

test("where inotify is used up, the resync repairs, and the log says once what to do", async (t) => {
  const world = await suite.world(t);
  const source = await suite.push("deaf", "1", { "d.tar": "whole content" });
  // A user namespace has limits of its own: those of the machine stay as they are.
  const script = 'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"';
  const agent = world.start(["--resync-period=500ms"], {
    by: ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"],
  });
  await world.apply("deaf", { source });
  await world.says("deaf", "synced");
  assert.ok((await agent.metric('larder_file_watches{state="failed"}')) > 0);
  await world.delete("deaf", "d.tar");
  await world.holds("deaf", "d.tar", "whole content");
  const remedies = agent.lines.filter((line) =>
    JSON.stringify(line).includes("max_user_instances"),
  );
  assert.equal(remedies.length, 1, agent.story());
});
