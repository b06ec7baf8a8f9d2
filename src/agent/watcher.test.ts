import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { fill, filesImage } from "../../test/cache/fixture.ts";
import { runCommand } from "../../testbed/command.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { writeAgentState } from "../cache/agent-state.ts";
import { Directory } from "../cache/directory.ts";
import { LarderError } from "../errors.ts";
import type { StartWatching } from "./directory-watch.ts";
import { CacheWatcher, type CacheEvent } from "./watcher.ts";

interface Line {
  readonly level: "info" | "warn";
  readonly message: string;
  readonly fields: { readonly error?: unknown; readonly directory?: string };
}

function watching(t: TestContext, watch?: StartWatching) {
  const events: CacheEvent[] = [];
  const deaths: LarderError[] = [];
  const lines: Line[] = [];
  const keep =
    (level: "info" | "warn") =>
    (message: string, fields: object = {}): void => {
      lines.push({ level, message, fields });
    };
  const watcher = new CacheWatcher({
    onEvent: (event) => events.push(event),
    onDeath: (error) => deaths.push(error),
    log: { info: keep("info"), warn: keep("warn") },
    ...(watch === undefined ? {} : { watch }),
  });
  t.after(() => {
    watcher.close();
  });
  /** Watches, and forgets the events that say that watches have begun. */
  const adjust = async (wanted: Readonly<Record<string, readonly string[]>>) => {
    const report = watcher.adjust(mapOf(wanted));
    await quiet(events);
    events.length = 0;
    return report.map(({ path, name, state }) => [path, name, state]);
  };
  return { watcher, events, deaths, lines, adjust };
}

function mapOf(wanted: Readonly<Record<string, readonly string[]>>) {
  return new Map(Object.entries(wanted).map(([path, names]) => [path, new Set(names)]));
}

/** What was on its way has arrived: a marker file in a watched folder of its own has been seen. */
async function quiet(events: readonly CacheEvent[]): Promise<void> {
  const marker = fs.mkdtempSync(join(tmpdir(), "larder-marker-"));
  let seen = false;
  const watch = fs.watch(marker, () => {
    seen = true;
  });
  try {
    // One inotify instance serves the whole process, in the order in which things happened.
    fs.writeFileSync(join(marker, "now"), "");
    await until(`the marker is seen after ${events.length} events`, () => seen);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  } finally {
    watch.close();
    fs.rmSync(marker, { recursive: true });
  }
}

/** Mounts, and unmounts whatever happens; what it is mounted on comes last. */
async function withMount(args: readonly string[], work: () => Promise<void>): Promise<void> {
  await runCommand("mount", args);
  try {
    await work();
  } finally {
    await runCommand("umount", args.slice(-1));
  }
}

const has = (events: readonly CacheEvent[], event: CacheEvent): boolean =>
  events.some(
    ({ path, name, file }) => path === event.path && name === event.name && file === event.file,
  );

/** A cache path that holds `app` with `a.tar`. */
async function cachePath(t: TestContext): Promise<string> {
  const path = await tempDirectory(t);
  fs.mkdirSync(join(path, "app"));
  fs.writeFileSync(join(path, "app/a.tar"), "content");
  return path;
}

const damages: readonly (readonly [string, (file: string) => void])[] = [
  ["deleted", (file) => fs.unlinkSync(file)],
  ["truncated", (file) => fs.truncateSync(file, 3)],
  ["overwritten with as many bytes", (file) => fs.writeFileSync(file, "CONTENT", { flag: "r+" })],
  ["renamed away", (file) => fs.renameSync(file, `${file}.old`)],
  ["replaced by a rename", (file) => replace(file)],
  ["made unreadable", (file) => fs.chmodSync(file, 0)],
];

function replace(file: string): void {
  fs.writeFileSync(`${file}.new`, "other");
  fs.renameSync(`${file}.new`, file);
}

for (const [how, damage] of damages) {
  test(`a file that is ${how} is told with its resource and its name`, async (t) => {
    const path = await cachePath(t);
    const { adjust, events } = watching(t);
    await adjust({ [path]: ["app"] });
    damage(join(path, "app/a.tar"));
    await until("the event", () => has(events, { path, name: "app", file: "a.tar" }));
  });
}

const changes: readonly (readonly [string, (directory: string) => void])[] = [
  ["deleted", (directory) => fs.rmSync(directory, { recursive: true })],
  ["renamed", (directory) => fs.renameSync(directory, `${directory}-2`)],
  ["given other permissions", (directory) => fs.chmodSync(directory, 0o700)],
];

for (const [how, change] of changes) {
  test(`a resource's directory that is ${how} is told with the resource`, async (t) => {
    const path = await cachePath(t);
    const { adjust, events } = watching(t);
    await adjust({ [path]: ["app"] });
    change(join(path, "app"));
    await until("the event", () => has(events, { path, name: "app" }));
  });
}

test("a directory that comes under a resource's name is told, and watched at the next adjustment", async (t) => {
  const path = await tempDirectory(t);
  const { adjust, events } = watching(t);
  assert.deepEqual(await adjust({ [path]: ["app"] }), [
    [path, undefined, "open"],
    [path, "app", "absent"],
  ]);
  fs.mkdirSync(join(path, "app"));
  await until("the event", () => has(events, { path, name: "app" }));
  assert.deepEqual((await adjust({ [path]: ["app"] }))[1], [path, "app", "open"]);
  fs.writeFileSync(join(path, "app/a.tar"), "");
  await until("the event", () => has(events, { path, name: "app", file: "a.tar" }));
});

test("each watch that begins is told once, since what happened before it was not seen", async (t) => {
  const path = await cachePath(t);
  const { watcher, events } = watching(t);
  watcher.adjust(mapOf({ [path]: ["app"] }));
  await quiet(events);
  assert.deepEqual(events, [{ path }, { path, name: "app" }]);
  watcher.adjust(mapOf({ [path]: ["app"] }));
  await quiet(events);
  assert.equal(events.length, 2);
});

test("a cache path that does not exist is no error, and watched once it does", async (t) => {
  const path = join(await tempDirectory(t), "not/yet");
  const { adjust, events, lines } = watching(t);
  for (let turn = 0; turn < 3; turn++) {
    assert.deepEqual(await adjust({ [path]: ["app"] }), [
      [path, undefined, "absent"],
      [path, "app", "absent"],
    ]);
  }
  fs.mkdirSync(path, { recursive: true });
  assert.deepEqual((await adjust({ [path]: ["app"] }))[0], [path, undefined, "open"]);
  fs.mkdirSync(join(path, "app"));
  await until("the event", () => has(events, { path, name: "app" }));
  assert.deepEqual(lines, []);
});

test("a directory that was replaced is watched anew at the next adjustment, its events seen or not", async (t) => {
  for (const seen of [true, false]) {
    const path = await cachePath(t);
    const { adjust, events } = watching(t);
    await adjust({ [path]: ["app"] });
    // Most file systems give the new directory the old one's inode number.
    fs.rmSync(join(path, "app"), { recursive: true });
    fs.mkdirSync(join(path, "app"));
    if (seen) await quiet(events);
    await adjust({ [path]: ["app"] });
    // Not seen before: the adjustment came before the event; one that follows puts it right.
    await adjust({ [path]: ["app"] });
    fs.writeFileSync(join(path, "app/b.tar"), "");
    await until("the event", () => has(events, { path, name: "app", file: "b.tar" }));
  }
});

test("what happens to a directory after it was moved away is not told", async (t) => {
  const path = await cachePath(t);
  const { adjust, events } = watching(t);
  await adjust({ [path]: ["app"] });
  fs.renameSync(join(path, "app"), join(path, ".away"));
  await quiet(events);
  events.length = 0;
  fs.rmSync(join(path, ".away"), { recursive: true });
  await quiet(events);
  assert.deepEqual(events, []);
});

test("a cache path that was mounted over, or unmounted again, is watched anew at the next adjustment", async (t) => {
  const path = await tempDirectory(t);
  const { adjust, events } = watching(t);
  await adjust({ [path]: [] });
  await withMount(["-t", "tmpfs", "none", path], async () => {
    await adjust({ [path]: [] });
    fs.mkdirSync(join(path, "above"));
    await until("the event above", () => has(events, { path, name: "above" }));
  });
  await until("the event of the unmounting", () => has(events, { path }));
  await adjust({ [path]: [] });
  fs.mkdirSync(join(path, "below"));
  await until("the event below", () => has(events, { path, name: "below" }));
});

test("two cache paths that are one directory are both told", async (t) => {
  const path = await cachePath(t);
  const other = await tempDirectory(t);
  const { adjust, events } = watching(t);
  await withMount(["--bind", path, other], async () => {
    await adjust({ [path]: ["app"], [other]: ["app"] });
    fs.unlinkSync(join(path, "app/a.tar"));
    await until("one event", () => has(events, { path, name: "app", file: "a.tar" }));
    await until("the other", () => has(events, { path: other, name: "app", file: "a.tar" }));
    await adjust({ [other]: ["app"] });
    fs.writeFileSync(join(path, "app/b.tar"), "");
    await until("the other", () => has(events, { path: other, name: "app", file: "b.tar" }));
    assert.ok(events.every((event) => event.path === other));
  });
});

test("what Larder makes for itself is passed over", async (t) => {
  const path = await tempDirectory(t);
  const { adjust, events } = watching(t);
  await adjust({ [path]: ["app"] });
  using parent = Directory.open(path);
  await writeAgentState(parent, "{}");
  fs.mkdirSync(join(path, ".app.tmp-0123456789abcdef"));
  fs.rmdirSync(join(path, ".app.tmp-0123456789abcdef"));
  await quiet(events);
  assert.deepEqual(events, []);
});

test("a fill is told as its resource's, and nothing comes after it", async (t) => {
  const path = await tempDirectory(t);
  const { adjust, events } = watching(t);
  await adjust({ [path]: ["app"] });
  for (let turn = 0; turn < 2; turn++) {
    await fill(path, filesImage({ "a.tar": `content ${turn}`, "b.tar": "more" }), { force: true });
    await quiet(events);
    assert.ok(events.length > 0);
    assert.ok(events.every(({ name, file }) => name === "app" && file === undefined));
    await adjust({ [path]: ["app"] });
    await adjust({ [path]: ["app"] });
    await quiet(events);
    assert.deepEqual(events, []);
  }
});

test("what happens inside flat files, and to names that no resource can have, is passed over", async (t) => {
  const path = await tempDirectory(t);
  fs.writeFileSync(join(path, "image.tar"), "");
  const { adjust, events } = watching(t);
  await adjust({ [path]: [] });
  fs.appendFileSync(join(path, "image.tar"), "more");
  fs.mkdirSync(join(path, "Lost+Found"));
  await quiet(events);
  assert.deepEqual(events, []);
});

test("equal events of one moment are one", async (t) => {
  const path = await cachePath(t);
  const { adjust, events } = watching(t);
  await adjust({ [path]: ["app"] });
  for (let turn = 0; turn < 500; turn++) {
    fs.writeFileSync(join(path, "app/a.tar"), String(turn));
    fs.writeFileSync(join(path, "app/b.tar"), String(turn));
  }
  await quiet(events);
  assert.equal(events.length, 2);
});

test("where events came too thick for none to be lost, everything watched is told", async (t) => {
  const path = await cachePath(t);
  const { adjust, events } = watching(t);
  await adjust({ [path]: ["app", "gone"] });
  const limit = Number(fs.readFileSync("/proc/sys/fs/inotify/max_queued_events", "utf8"));
  assert.ok(limit >= 16_384, "the kernel's limit is lowered on this machine");
  for (let turn = 0; turn < 5000; turn++) {
    fs.writeFileSync(join(path, `app/f${turn}`), "");
    fs.unlinkSync(join(path, `app/f${turn}`));
  }
  await quiet(events);
  assert.deepEqual(events, [{ path }, { path, name: "app" }]);
});

test("a link in a directory's place is not followed, and no error", async (t) => {
  const path = await cachePath(t);
  fs.symlinkSync("app", join(path, "link"));
  fs.writeFileSync(join(path, "file"), "");
  const { adjust, lines, events } = watching(t);
  assert.deepEqual(await adjust({ [path]: ["link", "file"] }), [
    [path, undefined, "open"],
    [path, "link", "absent"],
    [path, "file", "absent"],
  ]);
  fs.unlinkSync(join(path, "app/a.tar"));
  await quiet(events);
  assert.deepEqual(events, []);
  assert.deepEqual(lines, []);
});

test("a directory that cannot be watched is logged once, and once when it is watched after all", async (t) => {
  const path = join(await tempDirectory(t), "cache");
  fs.writeFileSync(path, "");
  const { adjust, lines } = watching(t);
  for (let turn = 0; turn < 3; turn++) {
    assert.deepEqual(await adjust({ [path]: [] }), [[path, undefined, "failed"]]);
  }
  assert.equal(lines.length, 1);
  assert.equal(lines[0]?.level, "warn");
  assert.equal(lines[0]?.fields.directory, path);
  assert.match(String(lines[0]?.fields.error), /cannot watch .*not a directory \(ENOTDIR\): /);
  fs.unlinkSync(path);
  fs.mkdirSync(path);
  for (let turn = 0; turn < 3; turn++) await adjust({ [path]: [] });
  assert.deepEqual(
    lines.map(({ level, message }) => [level, message]),
    [
      ["warn", "cannot watch a directory"],
      ["info", "a directory is watched again"],
    ],
  );
});

test("a watch that dies is told once, and begun anew at the next adjustment", async (t) => {
  const path = await cachePath(t);
  const started: fs.FSWatcher[] = [];
  const { adjust, deaths, events } = watching(t, (handle) => {
    const watch = fs.watch(handle);
    started.push(watch);
    return watch;
  });
  await adjust({ [path]: ["app"] });
  assert.equal(started.length, 2);
  const failure = Object.assign(new Error("read failed"), { code: "EIO", errno: -5 });
  started[1]?.emit("error", failure);
  started[1]?.emit("error", failure);
  assert.equal(deaths.length, 1);
  assert.match(String(deaths[0]), /cannot watch .*\/app any more: i\/o error \(EIO\): /);
  await adjust({ [path]: ["app"] });
  assert.equal(started.length, 3);
  fs.unlinkSync(join(path, "app/a.tar"));
  await until("the event", () => has(events, { path, name: "app", file: "a.tar" }));
});

test("what is not wanted any more is not watched any more", async (t) => {
  const path = await cachePath(t);
  const { adjust, events } = watching(t);
  await adjust({ [path]: ["app"] });
  await adjust({ [path]: [] });
  fs.unlinkSync(join(path, "app/a.tar"));
  await quiet(events);
  assert.deepEqual(events, []);
});

test("adjusting leaves no watch behind, and closing none at all", async (t) => {
  const watches = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === "FSEventWrap").length;
  const before = watches();
  const path = await cachePath(t);
  const { watcher, adjust, events } = watching(t);
  for (let turn = 0; turn < 20; turn++) {
    fs.chmodSync(join(path, "app"), turn % 2 === 0 ? 0o755 : 0o750);
    if (turn % 5 === 0) {
      fs.rmSync(join(path, "app"), { recursive: true });
      fs.mkdirSync(join(path, "app"));
    }
    await quiet(events);
    await adjust({ [path]: ["app"] });
    await until("two watches are open", () => watches() === before + 2);
  }
  fs.writeFileSync(join(path, "app/a.tar"), "");
  watcher.close();
  events.length = 0;
  await quiet(events);
  assert.deepEqual(events, []);
  await until("no watch is open", () => watches() === before);
  assert.deepEqual(watcher.adjust(mapOf({ [path]: [] })), []);
});
