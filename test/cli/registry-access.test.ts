/** What the command line says of registry access arrives at the registry client. */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { before, test, type TestContext } from "node:test";

import { machinePlatform } from "../../src/registry/platform.ts";
import { makeCertificates, type Certificates } from "../../testbed/certificates.ts";
import { ForwardProxy } from "../../testbed/forward-proxy.ts";
import { buildImage, buildIndex } from "../../testbed/image-builder.ts";
import { startMisbehavingRegistry } from "../../testbed/misbehaving-registry.ts";
import type { Authentication } from "../../testbed/token-desk.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";
import { larder } from "./larder-process.ts";

const platform = machinePlatform();
const user = { username: "robot", password: "s3cret-of-the-robot" };
const auth = Buffer.from(`${user.username}:${user.password}`).toString("base64");

let tls: Certificates;
before(async () => {
  tls = await makeCertificates(["registry.test"]);
});

function imageOf(content: string, on = platform) {
  return buildImage({
    platform: on,
    layers: [{ entries: [{ path: "images/a.tar", content }] }],
  });
}

/** A registry over TLS with a private authority, and a folder for files that name it. */
async function setUp(context: TestContext, authentication?: Authentication) {
  const at = await startMisbehavingRegistry({ tls, ...(authentication && { authentication }) });
  context.after(() => at.stop());
  at.hold("team/boot", "1", imageOf("content"));
  const folder = await tempDirectory(context);
  const cachePath = await tempDirectory(context);
  const ca = join(folder, "ca.pem");
  await writeFile(ca, tls.ca);
  const words = ["import", "--name", "boot", "--cache-path", cachePath];
  return {
    at,
    folder,
    cachePath,
    ca,
    source: `${at.host}/team/boot:1`,
    content: () => readFile(join(cachePath, "boot/a.tar"), "utf8"),
    run: (more: readonly string[], env: NodeJS.ProcessEnv = {}) =>
      larder([...words, ...more], { env }),
  };
}

const withPassword: Authentication = { kind: "basic", user };

test("--registry-ca and --registry-config name the authority and the credentials", async (context) => {
  const { at, folder, ca, source, run, content } = await setUp(context, withPassword);
  const config = join(folder, "named.json");
  await writeFile(config, JSON.stringify({ auths: { [at.host]: { auth } } }));
  const access = ["--registry-ca", ca, "--registry-config", config];
  const { exitCode, stderr } = await run([...access, source]);
  assert.equal(exitCode, 0, stderr);
  assert.equal(await content(), "content");
});

test("without --registry-config credentials are those of ~/.docker/config.json", async (context) => {
  const { at, folder, ca, source, run, content } = await setUp(context, withPassword);
  await mkdir(join(folder, ".docker"));
  const config = JSON.stringify({ auths: { [at.host]: { auth } } });
  await writeFile(join(folder, ".docker/config.json"), config);
  const { exitCode, stderr } = await run(["--registry-ca", ca, source], { HOME: folder });
  assert.equal(exitCode, 0, stderr);
  assert.equal(await content(), "content");
});

for (const flag of ["--registry-config", "--registry-ca"]) {
  test(`a ${flag} that is missing is wrong usage, named, and no registry is asked`, async (context) => {
    const { at, folder, cachePath, source, run } = await setUp(context);
    const missing = join(folder, "missing");
    const { exitCode, stderr, stdout } = await run([flag, missing, "--output", "json", source]);
    assert.equal(exitCode, 2);
    assert.equal(JSON.parse(stdout).error.code, "usage");
    assert.match(stderr, /^larder: [^\n]+: [^\n]+: [^\n]+\n$/m);
    assert.ok(stderr.includes(missing), stderr);
    assert.equal(at.accepted, 0);
    assert.deepEqual(await readdir(cachePath), []);
  });
}

test("credentials never appear in a process argument, nor in what is printed", async (context) => {
  const { folder, ca, source, run } = await setUp(context, { kind: "bearer", user });
  const seen = join(folder, "arguments");
  const answer = JSON.stringify({ Username: user.username, Secret: user.password });
  const helper = join(folder, "docker-credential-probe");
  // Its own arguments, and those of the process that started it.
  const script = `#!/bin/sh\ntr '\\0' '\\n' </proc/$$/cmdline >>${seen}\ntr '\\0' '\\n' </proc/$PPID/cmdline >>${seen}\necho '${answer}'\n`;
  await writeFile(helper, script, { mode: 0o755 });
  await writeFile(join(folder, "config.json"), JSON.stringify({ credsStore: "probe" }));
  const env = { PATH: `${folder}${delimiter}${process.env["PATH"]}`, LARDER_DEBUG: "1" };
  const access = ["--registry-ca", ca, "--registry-config", join(folder, "config.json")];
  const done = await run([...access, source], env);
  assert.equal(done.exitCode, 0, done.stderr);
  const failed = await run([...access, `${source}-none`], env);
  assert.equal(failed.exitCode, 1);
  const said = (await readFile(seen, "utf8")) + done.stdout + done.stderr + failed.stderr;
  assert.match(said, /^get$/m);
  for (const secret of [user.password, auth]) assert.ok(!said.includes(secret), said);
});

test("HTTPS_PROXY of the environment is honoured", async (context) => {
  const { at, ca, run, content } = await setUp(context);
  const proxy = new ForwardProxy(at.port);
  await proxy.listen();
  context.after(() => proxy.stop());
  const source = `registry.test:${at.port}/team/boot:1`;
  const HTTPS_PROXY = `http://${proxy.host}`;
  const { exitCode, stderr } = await run(["--registry-ca", ca, source], { HTTPS_PROXY });
  assert.equal(exitCode, 0, stderr);
  assert.equal(await content(), "content");
  assert.deepEqual([...new Set(proxy.seen)], [`CONNECT registry.test:${at.port}`]);
});

test("the platform is the machine's by default, and --platform asks for another", async (context) => {
  const { at, ca, source, run, content } = await setUp(context);
  const other = { os: "linux", architecture: "s390x" };
  const images = [{ image: imageOf("other", other) }, { image: imageOf("machine's") }];
  at.hold("team/boot", "1", buildIndex(images));
  const access = ["--registry-ca", ca, "--force", source];
  await run(access);
  assert.equal(await content(), "machine's");
  const { exitCode, stderr } = await run(["--platform", "linux/s390x", ...access]);
  assert.equal(exitCode, 0, stderr);
  assert.equal(await content(), "other");
});
