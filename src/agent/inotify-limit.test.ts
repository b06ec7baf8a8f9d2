/** The kernel's limits of inotify, reached for real: in a user namespace, which has its own. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { runCommand } from "../../testbed/command.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";

interface Step {
  /** Names of the kernel's limits and what they are set to. */
  readonly limits: Readonly<Record<string, number>>;
  /** The resources that are wanted then. */
  readonly names: readonly string[];
  /** What the second of two reports says, of the cache path first. */
  readonly states: readonly string[];
  /** What is logged meanwhile. */
  readonly lines: readonly (readonly [level: string, message: string, error: string | null])[];
}

/** Sets the limits of each step, adjusts twice under them, and prints what that gave. */
const script = `
import * as fs from "node:fs";
const { CacheWatcher } = await import(process.env.WATCHER);
let lines = [];
const log = (level) => (message, fields) => lines.push([level, message, fields?.error?.message ?? null]);
const seen = [];
const watcher = new CacheWatcher({
  onEvent: (event) => seen.push(event),
  onDeath: (error) => { throw error; },
  log: { info: log("info"), warn: log("warn") },
});
for (const { limits, names } of JSON.parse(process.env.STEPS)) {
  for (const [name, value] of Object.entries(limits)) {
    fs.writeFileSync("/proc/sys/user/" + name, String(value));
  }
  const wanted = new Map([[process.env.CACHE, new Set(names)]]);
  watcher.adjust(wanted);
  const states = watcher.adjust(wanted).map(({ state }) => state);
  console.log(JSON.stringify({ limits, names, states, lines }));
  lines = [];
}
const settle = () => new Promise((resolve) => setImmediate(resolve));
await settle();
seen.length = 0;
fs.writeFileSync(process.env.CACHE + "/b/file", "");
const deadline = Date.now() + 10_000;
while (!seen.some(({ file }) => file === "file") && Date.now() < deadline) await settle();
console.log(JSON.stringify(seen.some(({ name, file }) => name === "b" && file === "file")));
watcher.close();
`;

const path = (cache: string, name: string): string =>
  `cannot watch ${cache}${name} for changes: all inotify`;

const stepsIn = (cache: string): readonly Step[] => [
  {
    limits: { max_inotify_instances: 0 },
    names: ["a", "b"],
    states: ["failed", "failed", "failed"],
    lines: [
      [
        "warn",
        "inotify is used up",
        `${path(cache, "")} instances of user 0 are in use (EMFILE): raise the node's limit (sysctl fs.inotify.max_user_instances), or the limit of open files (ulimit -n); until then only the resync finds and repairs damage`,
      ],
    ],
  },
  {
    limits: { max_inotify_instances: 8 },
    names: [],
    states: ["open"],
    lines: [["info", "inotify has room again", null]],
  },
  {
    limits: { max_inotify_watches: 2 },
    names: ["a", "b"],
    states: ["open", "open", "failed"],
    lines: [
      [
        "warn",
        "inotify is used up",
        `${path(cache, "/b")} watches of user 0 are in use (ENOSPC): raise the node's limit (sysctl fs.inotify.max_user_watches); until then only the resync finds and repairs damage`,
      ],
    ],
  },
  {
    limits: { max_inotify_watches: 2 },
    names: ["a", "b", "c"],
    states: ["open", "open", "failed", "failed"],
    lines: [],
  },
  {
    limits: { max_inotify_watches: 100 },
    names: ["a", "b", "c"],
    states: ["open", "open", "open", "open"],
    lines: [["info", "inotify has room again", null]],
  },
];

test("used-up inotify limits are logged once with their remedy, and once they have room again everything is watched", async (t) => {
  const cache = await tempDirectory(t);
  for (const name of ["a", "b", "c"]) mkdirSync(join(cache, name));
  const steps = stepsIn(cache);
  const node = [process.execPath, "--input-type=module", "-e", script];
  const { stdout } = await runCommand("unshare", ["--user", "--map-root-user", ...node], {
    env: {
      CACHE: cache,
      STEPS: JSON.stringify(steps),
      WATCHER: new URL("./watcher.ts", import.meta.url).href,
    },
  });
  const said = stdout
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  // The last line: whether a file made afterwards was seen.
  assert.deepEqual(said, [...steps, true]);
});
