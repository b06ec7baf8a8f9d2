import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { openSync, closeSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";

import { machinePlatform } from "../../src/registry/platform.ts";
import { buildImage } from "../../testbed/image-builder.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { until } from "../../testbed/until.ts";
import { larder, mainFile, start } from "./larder-process.ts";
import { stallingRegistry } from "./stalling-registry.ts";

/** An import that has written some bytes and then waits for more that never come. */
async function underWay(context: TestContext) {
  const cachePath = await tempDirectory(context);
  const entries = [{ path: "big.tar", content: Buffer.alloc(3_000_000, 1) }];
  const image = buildImage({
    platform: machinePlatform(),
    layers: [{ entries, compression: "none" }],
  });
  const registry = await stallingRegistry(context, image);
  const access = ["--cache-path", cachePath, "--insecure-registry", registry.host];
  const words = ["import", "--name", "boot", ...access, "--output", "json"];
  const { child, finished } = start([...words, `${registry.host}/boot:1`]);
  context.after(() => child.kill("SIGKILL"));
  await until("a layer is being read", async () => {
    const hidden = (await readdir(cachePath)).some((name) => name.startsWith(".boot.tmp-"));
    return (
      hidden && registry.seen.some(({ path }) => path.includes(image.layers[0]?.digest ?? "none"))
    );
  });
  return { child, finished, cachePath };
}

for (const [signal, exitCode] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  test(`${signal} ends an import with ${exitCode}, within three seconds, nothing left behind`, async (context) => {
    const { child, finished, cachePath } = await underWay(context);
    const sent = performance.now();
    child.kill(signal);
    const result = await finished;
    assert.equal(result.exitCode, exitCode, result.stderr);
    assert.ok(performance.now() - sent < 3000);
    assert.deepEqual(await readdir(cachePath), []);
    assert.match(result.stderr, /^larder: [^\n]*: it was told to stop: [^\n]*\n$/m);
    assert.equal(JSON.parse(result.stdout).error.code, "interrupted");
  });
}

test("a second signal ends an import at once", async (context) => {
  const { child, finished } = await underWay(context);
  child.kill("SIGTERM");
  child.kill("SIGINT");
  const { exitCode } = await finished;
  assert.ok(exitCode === 130 || exitCode === 143, String(exitCode));
});

/** What a shell script that runs `larder` says on its standard error. */
async function saidBy(script: string): Promise<string> {
  const child = spawn("bash", ["-c", script], { stdio: ["ignore", "ignore", "pipe"] });
  return text(child.stderr);
}

const program = `"${process.execPath}" "${mainFile}"`;

test("a reader of standard output that goes away is not a crash", async () => {
  const script = `{ ${program} help import; echo "exit $?" >&2; } | head -n 0`;
  assert.equal(await saidBy(script), "exit 0\n");
});

test("a reader of standard error that goes away is not a crash", async () => {
  const script = `{ ${program} nonsense 2>&1 >/dev/null; echo "exit $?" >&3; } 3>&2 | true`;
  assert.equal(await saidBy(script), "exit 2\n");
});

test("a result that cannot be written is an error of one line, exit 1", async () => {
  const full = openSync("/dev/full", "w");
  const { exitCode, stderr } = await larder(["version"], { stdout: full });
  closeSync(full);
  assert.equal(exitCode, 1);
  assert.match(
    stderr,
    /^larder: cannot write the result to standard output: [^\n]*ENOSPC[^\n]*\n$/,
  );
});

test("wrong usage is one line on standard error, nothing on standard output, exit 2", async () => {
  assert.deepEqual(await larder(["import", "--nmae", "x"]), {
    exitCode: 2,
    signal: null,
    stdout: "",
    stderr: "larder: unknown option '--nmae': did you mean --name?: run 'larder help import'\n",
  });
});

test("a failure shows no stack, unless LARDER_DEBUG is 1", async () => {
  const words = ["verify", "--cache-path", "/does/not/exist"];
  const plain = await larder(words);
  assert.equal(plain.exitCode, 1);
  assert.equal(plain.stderr.trimEnd().split("\n").length, 1);
  const debug = await larder(words, { env: { LARDER_DEBUG: "1" } });
  assert.match(debug.stderr, /^larder: .*\n[^]*\n    at /);
});

test("a warning of the runtime never reaches the user", async () => {
  const { stderr, exitCode } = await larder(["help"]);
  assert.deepEqual({ stderr, exitCode }, { stderr: "", exitCode: 0 });
});

test("version prints Larder, what it is made of, and the machine, in text and JSON", async () => {
  const plain = await larder(["version"]);
  assert.match(plain.stdout, /^larder \d+\.\d+\.\d+\nnode 26\.[^]*\nmachine linux\/\w+\n$/);
  const json = await larder(["version", "--output", "json"]);
  const made = JSON.parse(json.stdout);
  assert.equal(made.version, 1);
  assert.equal(made.node, process.versions.node);
  assert.equal(typeof made.zstd, "string");
});
