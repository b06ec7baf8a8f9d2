/** An error keeps its class from where it happened to the exit code and the JSON result. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import type { ErrorCode } from "../../src/errors.ts";
import { machinePlatform } from "../../src/registry/platform.ts";
import { buildImage } from "../../testbed/image-builder.ts";
import {
  startMisbehavingRegistry,
  type MisbehavingRegistry,
  type MisbehavingRegistryOptions,
} from "../../testbed/misbehaving-registry.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { larder } from "./larder-process.ts";

const platform = machinePlatform();
const image = buildImage({
  platform,
  layers: [{ entries: [{ path: "images/a.tar", content: "a".repeat(10_000) }] }],
});
const [layer] = image.layers;
assert.ok(layer !== undefined);
const damaged = Buffer.from(layer.blob);
damaged[damaged.length >> 1]! ^= 1;

async function setUp(context: TestContext, options: MisbehavingRegistryOptions = {}) {
  const cachePath = await tempDirectory(context);
  const at = await startMisbehavingRegistry(options);
  context.after(() => at.stop());
  at.hold("team/boot", "1", image);
  const words = ["import", "--name", "boot", "--cache-path", cachePath, "--output", "json"];
  return {
    cachePath,
    at,
    source: `${at.host}/team/boot:1`,
    run: (...more: string[]) => larder([...words, ...more]),
  };
}

interface Case {
  readonly code: ErrorCode;
  readonly when: string;
  readonly serving?: MisbehavingRegistryOptions;
  readonly spoil?: (at: MisbehavingRegistry) => void;
  /** Default: the image by its tag. */
  readonly tag?: string;
  readonly words?: readonly string[];
  /** Default false. */
  readonly verified?: boolean;
  readonly says: RegExp;
}

const cases: readonly Case[] = [
  {
    code: "reference",
    when: "the source is malformed",
    tag: "-",
    says: /its tag "-" is malformed/,
  },
  {
    code: "auth",
    when: "the registry wants a password",
    serving: { authentication: { kind: "basic", user: { username: "u", password: "p" } } },
    says: /no credentials for it were found/,
  },
  { code: "not-found", when: "there is no such tag", tag: "2", says: /answered 404/ },
  {
    code: "network",
    when: "it does not speak https",
    verified: true,
    says: /does not speak https/,
  },
  {
    code: "registry",
    when: "a web page answers",
    spoil: (at) =>
      at.misbehave(/./, {
        kind: "answer",
        status: 200,
        headers: { "Content-Type": "text/html" },
        body: "<html>",
      }),
    says: /is not a registry/,
  },
  {
    code: "digest",
    when: "a byte of a layer differs",
    spoil: (at) => at.blob("team/boot", layer.digest, damaged),
    says: new RegExp(`${layer.digest}.*sha256:[0-9a-f]{64}`),
  },
  {
    code: "platform",
    when: "the image is for another platform",
    words: ["--platform", "linux/s390x"],
    says: /linux\/s390x/,
  },
  {
    code: "image",
    when: "a link survives in the image",
    spoil: (at) => {
      const entries = [{ path: "images/l", type: "symlink" as const, linkName: "/etc/passwd" }];
      at.hold("team/boot", "1", buildImage({ platform, layers: [{ entries }] }));
    },
    says: /images\/l.*symbolic link/,
  },
  {
    code: "disk",
    when: "there is too little space",
    words: ["--min-free", "99.999%"],
    says: /missing|free/,
  },
];

/** What no registry said: these name the reference or the path, and what is wrong with it. */
const local: ReadonlySet<ErrorCode> = new Set(["image", "disk"]);

for (const { code, when, serving, spoil, tag, words, verified, says } of cases) {
  test(`the class ${code} (${when}) is kept to the exit code, the JSON and the line on standard error, and nothing is left behind`, async (context) => {
    const { cachePath, at, run } = await setUp(context, serving);
    spoil?.(at);
    const access = verified === true ? [] : ["--insecure-registry", at.host];
    const result = await run(...access, ...(words ?? []), `${at.host}/team/boot:${tag ?? "1"}`);
    assert.equal(result.exitCode, code === "reference" ? 2 : 1, result.stderr);
    const { error } = JSON.parse(result.stdout);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, says);
    if (!local.has(code)) assert.ok(error.message.includes(`${at.host}/team/boot`), error.message);
    assert.ok(result.stderr.endsWith(`larder: ${error.message}\n`), result.stderr);
    assert.deepEqual(await readdir(cachePath), []);
  });
}

test("a digest that does not match names both digests and leaves the old content as it was", async (context) => {
  const { cachePath, at, source, run } = await setUp(context);
  const insecure = ["--insecure-registry", at.host];
  assert.equal((await run(...insecure, source)).exitCode, 0);
  at.blob("team/boot", layer.digest, damaged);
  const { exitCode, stdout } = await run(...insecure, "--force", source);
  assert.equal(exitCode, 1);
  const { error } = JSON.parse(stdout);
  assert.equal(error.code, "digest");
  assert.ok(error.message.includes(layer.digest));
  assert.deepEqual(await readdir(cachePath), ["boot"]);
  assert.equal(await readFile(join(cachePath, "boot/a.tar"), "utf8"), "a".repeat(10_000));
});

test("retries are counted in the JSON result, and each is said on standard error", async (context) => {
  const { at, source, run } = await setUp(context);
  at.misbehave(/\/manifests\//, { kind: "answer", status: 503, headers: { "Retry-After": "1" } });
  const { exitCode, stdout, stderr } = await run("--insecure-registry", at.host, source);
  assert.equal(exitCode, 0, stderr);
  assert.equal(JSON.parse(stdout).retries, 1);
  assert.match(stderr, /answered 503/);
});
