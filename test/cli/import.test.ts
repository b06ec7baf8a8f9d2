import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { machinePlatform } from "../../src/registry/platform.ts";
import {
  buildImage,
  dockerArchive,
  writeOciLayout,
  type BuiltImage,
} from "../../testbed/image-builder.ts";
import { startMisbehavingRegistry } from "../../testbed/misbehaving-registry.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { larder } from "./larder-process.ts";

const platform = machinePlatform();

function imageWith(...contents: readonly string[]) {
  const entries = contents.map((content, index) => ({ path: `images/${index}.tar`, content }));
  return buildImage({ platform, layers: entries.map((entry) => ({ entries: [entry] })) });
}

async function setUp(context: TestContext) {
  const cachePath = await tempDirectory(context);
  const image = imageWith("one", "three");
  const registry = await startMisbehavingRegistry();
  context.after(() => registry.stop());
  const serve = (other: BuiltImage, tag = "1", repository = "team/boot"): void => {
    registry.hold(repository, tag, other);
  };
  serve(image);
  const source = `${registry.host}/team/boot:1`;
  const access = ["--cache-path", cachePath, "--insecure-registry", registry.host];
  return {
    cachePath,
    registry,
    source,
    run: (...words: string[]) => larder(["import", ...access, ...words]),
    serve,
    image,
  };
}

test("import of a reference fills the directory and says so in one line on standard output", async (context) => {
  const { cachePath, source, run, image } = await setUp(context);
  const { exitCode, stdout, stderr } = await run("--name", "boot", source);
  assert.equal(exitCode, 0, stderr);
  assert.match(
    stdout,
    /^boot: pulled in \d+\.\ds: 2 files, 8 B in \S+\/boot \(sha256:[0-9a-f]{64}\)\n$/,
  );
  assert.ok(stdout.includes(image.digest));
  assert.equal(await readFile(join(cachePath, "boot/0.tar"), "utf8"), "one");
  assert.equal(await readFile(join(cachePath, "boot/1.tar"), "utf8"), "three");
});

test("what is complete already is said to be, exits 0, and contacts no registry", async (context) => {
  const { source, run, registry } = await setUp(context);
  await run("--name", "boot", source);
  registry.seen.length = 0;
  const { exitCode, stdout, stderr } = await run("--name", "boot", source);
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^boot: already complete: 2 files, 8 B /);
  assert.deepEqual(registry.seen, []);
});

test("a source other than the sentinel's is stale and pulled", async (context) => {
  const { cachePath, source, run, serve } = await setUp(context);
  await run("--name", "boot", source);
  serve(imageWith("newer"), "2");
  const { exitCode, stdout } = await run("--name", "boot", source.replace(":1", ":2"));
  assert.equal(exitCode, 0);
  assert.match(stdout, /^boot: pulled /);
  assert.equal(await readFile(join(cachePath, "boot/0.tar"), "utf8"), "newer");
});

test("--force fills again what is complete", async (context) => {
  const { source, run, registry } = await setUp(context);
  await run("--name", "boot", source);
  registry.seen.length = 0;
  const { stdout } = await run("--name", "boot", "--force", source);
  assert.match(stdout, /^boot: pulled /);
  assert.ok(registry.seen.length > 0);
});

test("--output json prints one object with everything that is known of the fill", async (context) => {
  const { cachePath, source, run, image } = await setUp(context);
  const { stdout } = await run("--name", "boot", "--output", "json", source);
  const { seconds, ...rest } = JSON.parse(stdout);
  assert.ok(seconds >= 0 && seconds < 60);
  const expected = {
    version: 1,
    name: "boot",
    cachePath,
    source,
    digest: image.digest,
    resolved: image.digest,
    platform: [platform.os, platform.architecture, platform.variant].filter(Boolean).join("/"),
    result: "pulled",
    files: [
      { name: "0.tar", bytes: 3 },
      { name: "1.tar", bytes: 5 },
    ],
    bytes: 8,
    retries: 0,
    warnings: [],
  };
  assert.deepEqual(rest, expected);
  const again = JSON.parse((await run("--name", "boot", "--output", "json", source)).stdout);
  assert.deepEqual({ ...again, seconds: 0 }, { ...expected, result: "complete", seconds: 0 });
});

test("--output json prints the object on an error, too, with its code and message", async (context) => {
  const { cachePath, run } = await setUp(context);
  await mkdir(join(cachePath, "boot"));
  const words = ["--name", "boot", "--output", "json", "127.0.0.1:1/x:1"];
  const { exitCode, stdout, stderr } = await run(...words);
  assert.equal(exitCode, 1);
  const result = JSON.parse(stdout);
  assert.equal(result.version, 1);
  assert.equal(result.name, "boot");
  assert.equal(result.cachePath, cachePath);
  assert.equal(result.result, null);
  assert.equal(result.error.code, "foreign");
  assert.equal(stderr, `larder: ${result.error.message}\n`);
});

test("--output json prints the object for wrong usage, too, whether by flag or variable", async () => {
  const lines = [
    ["import", "--nmae", "x", "--output", "json"],
    ["import", "--output=json", "--name", "BAD", "boot:1"],
  ];
  for (const line of lines) {
    const { exitCode, stdout } = await larder(line);
    assert.equal(exitCode, 2);
    assert.equal(JSON.parse(stdout).error.code, "usage");
  }
  const { stdout } = await larder(["import"], { env: { LARDER_OUTPUT: "json" } });
  assert.equal(JSON.parse(stdout).error.code, "usage");
});

test("--quiet prints nothing at all when all is well", async (context) => {
  const { source, run } = await setUp(context);
  const { exitCode, stdout, stderr } = await run("--name", "boot", "--quiet", source);
  assert.deepEqual({ exitCode, stdout, stderr }, { exitCode: 0, stdout: "", stderr: "" });
});

test("--quiet --output json prints the object and nothing else", async (context) => {
  const { source, run } = await setUp(context);
  const { stdout, stderr } = await run("--name", "boot", "--quiet", "--output", "json", source);
  assert.equal(JSON.parse(stdout).result, "pulled");
  assert.equal(stderr, "");
});

test("import of a docker archive records its file name and the reference that --source gives", async (context) => {
  const { cachePath, run, image } = await setUp(context);
  const path = join(await tempDirectory(context), "boot.tar");
  await writeFile(path, dockerArchive([{ image, tags: ["boot:1"] }]));
  const words = ["--name", "boot", "--source", "registry.example.com/boot:1", path];
  const { exitCode, stderr } = await run(...words);
  assert.equal(exitCode, 0, stderr);
  const text = await readFile(join(cachePath, "boot/.image-cache-agent.json"), "utf8");
  const sentinel = JSON.parse(text);
  assert.equal(sentinel.archive, "boot.tar");
  assert.equal(sentinel.source, "registry.example.com/boot:1");
  assert.equal(sentinel.owner, "imagecachectl");
  const again = await run(...words);
  assert.match(again.stdout, /already complete/);
});

test("an archive's sentinel names no source unless --source says what it stands for", async (context) => {
  const { cachePath, run, image } = await setUp(context);
  const path = join(await tempDirectory(context), "boot.tar");
  await writeFile(path, dockerArchive([{ image, tags: ["boot:1"] }]));
  const { stdout, stderr } = await run("--name", "boot", "--output", "json", path);
  assert.equal(stderr.includes("larder: "), false, stderr);
  const text = await readFile(join(cachePath, "boot/.image-cache-agent.json"), "utf8");
  assert.equal("source" in JSON.parse(text), false);
  assert.equal(JSON.parse(text).archive, "boot.tar");
  assert.equal(JSON.parse(stdout).result, "pulled");
});

test("import of an archive whose manifest is not the sentinel's is stale and fills", async (context) => {
  const { cachePath, run } = await setUp(context);
  const directory = await tempDirectory(context);
  for (const [name, content] of [
    ["a", "old"],
    ["b", "new"],
  ] as const) {
    await writeOciLayout(join(directory, name), [{ image: imageWith(content) }]);
    const { exitCode, stdout, stderr } = await run("--name", "boot", join(directory, name));
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /pulled/);
    assert.equal(await readFile(join(cachePath, "boot/0.tar"), "utf8"), content);
  }
});

test("a complete archive whose --source differs from the record is left, with a warning", async (context) => {
  const { run } = await setUp(context);
  const layout = join(await tempDirectory(context), "layout");
  await writeOciLayout(layout, [{ image: imageWith("x") }]);
  await run("--name", "boot", layout);
  const words = ["--name", "boot", "--source", "example.com/boot:1", "--output", "json", layout];
  const { stdout, stderr } = await run(...words);
  assert.match(stderr, /^larder: warning: .*example\.com\/boot:1.*--force/m);
  assert.equal(JSON.parse(stdout).warnings.length, 1);
});

test("--source with a reference is wrong usage", async (context) => {
  const { run } = await setUp(context);
  const { exitCode, stderr } = await run("--name", "boot", "--source", "a:1", "b:1");
  assert.equal(exitCode, 2);
  assert.match(
    stderr,
    /^larder: --source says what an archive stands for, and b:1 is a reference: /,
  );
});

test("a bad name, cache path, source, platform, rewrite, insecure registry or reserve exits 2", async (context) => {
  const { run, registry, cachePath } = await setUp(context);
  const bad: Record<string, string[]> = {
    name: ["--name", "Boot_1", "a:1"],
    source: ["--name", "boot", "registry.example.com/UPPER:1"],
    "--source": ["--name", "boot", "--source", "UPPER", "./a"],
    platform: ["--name", "boot", "--platform", "linux", "a:1"],
    rewrite: ["--name", "boot", "--registry-rewrite", "a.io", "a:1"],
    reserve: ["--name", "boot", "--min-free", "lots", "a:1"],
    insecure: ["--name", "boot", "--insecure-registry", "http://a.io/x", "a:1"],
  };
  for (const [what, words] of Object.entries(bad)) {
    const { exitCode, stderr } = await run(...words);
    assert.equal(exitCode, 2, what);
    assert.match(stderr, /^larder: [^\n]+: [^\n]+: [^\n]+\n$/, what);
  }
  const relative = await larder(["import", "--name", "boot", "--cache-path", "a/../b", "a:1"]);
  assert.equal(relative.exitCode, 2);
  assert.deepEqual(registry.seen, []);
  assert.deepEqual(await readdir(cachePath), []);
});

test("a cache path that is missing is not created: exit 1, code cache-path", async (context) => {
  const cachePath = join(await tempDirectory(context), "missing");
  const words = ["import", "--name", "boot", "--cache-path", cachePath, "--output", "json", "a:1"];
  const { exitCode, stdout } = await larder(words);
  assert.equal(exitCode, 1);
  assert.equal(JSON.parse(stdout).error.code, "cache-path");
});

test("what is foreign is never replaced: exit 1, and it stays", async (context) => {
  const { run, source, cachePath } = await setUp(context);
  await symlink("/etc", join(cachePath, "boot"));
  const { exitCode, stderr } = await run("--name", "boot", source);
  assert.equal(exitCode, 1);
  assert.match(stderr, /^larder: cannot fill .*by hand/m);
  assert.deepEqual(await readdir(cachePath), ["boot"]);
});

test("options come from the environment", async (context) => {
  const { source, cachePath, registry } = await setUp(context);
  const env = {
    LARDER_NAME: "from-variable",
    LARDER_CACHE_PATH: cachePath,
    LARDER_INSECURE_REGISTRY: `other.example.com, ${registry.host}`,
    LARDER_QUIET: "true",
  };
  const { exitCode, stdout, stderr } = await larder(["import", source], { env });
  assert.deepEqual({ exitCode, stdout, stderr }, { exitCode: 0, stdout: "", stderr: "" });
  assert.deepEqual(await readdir(cachePath), ["from-variable"]);
});

test("--registry-rewrite fetches from elsewhere and the sentinel keeps what was asked for", async (context) => {
  const { run, cachePath, registry, serve, image } = await setUp(context);
  serve(image, "1", "mirror/boot");
  const rewrite = `ghcr.io/acme=${registry.host}/mirror`;
  const words = ["--name", "boot", "--registry-rewrite", rewrite, "ghcr.io/acme/boot:1"];
  const { exitCode, stderr } = await run(...words);
  assert.equal(exitCode, 0, stderr);
  assert.ok(registry.seen.some(({ path }) => path.startsWith("/v2/mirror/boot/manifests/")));
  const text = await readFile(join(cachePath, "boot/.image-cache-agent.json"), "utf8");
  assert.equal(JSON.parse(text).source, "ghcr.io/acme/boot:1");
});

test("what an image says is printed escaped, in one line", async (context) => {
  const { run, cachePath, serve, source } = await setUp(context);
  const entries = [{ path: "a\u001b[2J\nb", type: "symlink" as const, linkName: "x" }];
  serve(buildImage({ platform, layers: [{ entries }] }));
  const { exitCode, stderr } = await run("--name", "boot", "--quiet", source);
  assert.equal(exitCode, 1);
  assert.match(stderr, /^larder: [ -~]*\\x1b\[2J\\x0ab[ -~]*\n$/);
  assert.deepEqual(await readdir(cachePath), []);
});

test("too little free space for --min-free is code disk, exit 1, and leaves nothing", async (context) => {
  const { run, cachePath, source } = await setUp(context);
  const words = ["--name", "boot", "--min-free", "99.999%", "--output", "json", source];
  const { exitCode, stdout } = await run(...words);
  assert.equal(exitCode, 1);
  assert.equal(JSON.parse(stdout).error.code, "disk");
  assert.deepEqual(await readdir(cachePath), []);
});

test("the size of a file that an older agent recorded none of is that of the file", async (context) => {
  const { run, cachePath, source, image } = await setUp(context);
  await mkdir(join(cachePath, "boot"));
  await writeFile(join(cachePath, "boot/a.tar"), "12345");
  const sentinel = { digest: image.digest, files: ["a.tar"], source };
  await writeFile(join(cachePath, "boot/.image-cache-agent.json"), JSON.stringify(sentinel));
  const { stdout } = await run("--name", "boot", "--output", "json", source);
  const result = JSON.parse(stdout);
  assert.equal(result.result, "complete");
  assert.deepEqual(result.files, [{ name: "a.tar", bytes: 5 }]);
  assert.equal(result.bytes, 5);
  assert.equal(result.platform, null);
});

test("imagecachectl import is larder import", async (context) => {
  const { cachePath, registry, source } = await setUp(context);
  const program = fileURLToPath(new URL("../../bin/imagecachectl", import.meta.url));
  const access = ["--cache-path", cachePath, "--insecure-registry", registry.host];
  const env = { ...process.env, LARDER_NODE: process.execPath };
  const words = ["import", "--name", "boot", ...access, source];
  const { stdout } = await promisify(execFile)(program, words, { env });
  assert.match(stdout, /^boot: pulled /);
});
