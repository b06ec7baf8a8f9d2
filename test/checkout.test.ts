/** What `make setup` promises: `bin/larder` runs from a checkout, with the right Node. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { tempDirectory } from "../testbed/temp-directory.ts";
import { root } from "./source-files.ts";

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = root,
): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd, env: { PATH: process.env["PATH"], ...env } };
    execFile(program, args, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

/** A checkout without node_modules, whose `node` on PATH claims to be of some version. */
async function checkoutWithNode(t: TestContext, version: string): Promise<[string, string]> {
  const dir = await tempDirectory(t);
  for (const folder of ["bin", "scripts"]) {
    await cp(join(root, folder), join(dir, folder), { recursive: true });
  }
  const programs = join(dir, "programs");
  await mkdir(programs);
  await writeFile(join(programs, "node"), `#!/bin/sh\necho ${version}\n`, { mode: 0o755 });
  return [dir, `${programs}:/usr/bin:/bin`];
}

test("bin/larder runs the sources of its checkout", async () => {
  const { code, stdout } = await run(join(root, "bin/larder"), ["version"]);
  assert.equal(code, 0);
  assert.match(stdout, /^larder \d/);
});

test("bin/larder works through links to it, relative ones as well", async (t) => {
  const dir = await tempDirectory(t);
  await symlink(join(root, "bin/larder"), join(dir, "first"));
  await symlink("first", join(dir, "second"));
  assert.match((await run(join(dir, "second"), ["version"])).stdout, /^larder \d/);
});

test("bin/larder works by every path that leads to it, in every shell that may be sh", async (t) => {
  const dir = await tempDirectory(t);
  await symlink(root, join(dir, "checkout"));
  await symlink(join(root, "bin"), join(dir, "bin"));
  await symlink(join(root, "bin"), join(dir, "programs"));
  for (const shell of ["dash", "bash"]) {
    for (const [cwd, path] of [
      [root, "bin/larder"],
      [join(root, "bin"), "larder"],
      [join(root, "src"), "../bin/larder"],
      [dir, "checkout/bin/larder"],
      [dir, "bin/larder"],
      ["/", join(dir, "checkout/bin/larder")],
      ["/", join(dir, "bin/larder")],
      ["/", join(dir, "programs/larder")],
      ["/", join(dir, "programs/imagecachectl")],
    ] as const) {
      const { code, stdout, stderr } = await run(shell, [path, "version"], {}, cwd);
      assert.equal(code, 0, `${shell} ${path} in ${cwd}: ${stderr}`);
      assert.match(stdout, /^larder \d/);
    }
  }
});

test("bin/larder runs the Node and the entry point that LARDER_NODE and LARDER_MAIN name", async (t) => {
  const dir = await tempDirectory(t);
  const [node, entry] = [join(dir, "node"), join(dir, "entry")];
  await writeFile(node, '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
  const env = { LARDER_NODE: node, LARDER_MAIN: entry };
  const { stdout } = await run(join(root, "bin/larder"), ["a b", "*"], env);
  assert.equal(stdout, `--no-warnings --max-semi-space-size=2 ${entry} a b *\n`);
  const wrong = await run(join(root, "bin/larder"), ["version"], {
    LARDER_NODE: join(dir, "none"),
  });
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /LARDER_NODE is '.*none', which is not a program/);
});

test("bin/larder takes the Node that npm brought, and none of another machine's kind", async (t) => {
  const [checkout, path] = await checkoutWithNode(t, "v26.10.0");
  const own = process.arch === "arm64" ? "arm64" : "x64";
  const bring = async (arch: string): Promise<void> => {
    const folder = join(checkout, `node_modules/node-linux-${arch}/bin`);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "node"), `#!/bin/sh\necho brought ${arch}\n`, { mode: 0o755 });
  };
  const larder = join(checkout, "bin/larder");
  const env = { PATH: path, LARDER_MAIN: "/any" };
  await bring(own === "x64" ? "arm64" : "x64");
  assert.equal((await run(larder, [], env)).stdout, "v26.10.0\n");
  await bring(own);
  assert.equal((await run(larder, [], env)).stdout, `brought ${own}\n`);
});

test("bin/imagecachectl is bin/larder under another name, through links as well", async (t) => {
  const link = join(await tempDirectory(t), "imagecachectl");
  await symlink(join(root, "bin/imagecachectl"), link);
  const [larder, alias] = [
    await run(join(root, "bin/larder"), ["version"]),
    await run(link, ["version"]),
  ];
  assert.deepEqual(alias, larder);
});

test("bin/larder passes arguments on as they are, and the exit code back", async () => {
  const { code, stderr } = await run(join(root, "bin/larder"), ["no such command", "*"]);
  assert.equal(code, 2);
  assert.match(stderr, /^larder: .*no such command/);
});

test("with no Node that is new enough bin/larder names the one there is and what to run", async (t) => {
  const [checkout, path] = await checkoutWithNode(t, "v26.9.4");
  const { code, stderr } = await run(join(checkout, "bin/larder"), ["version"], { PATH: path });
  assert.equal(code, 1);
  assert.match(stderr, /^larder: no Node 26\.10 or newer: .*node is v26\.9\.4: run 'make setup'/);
});

for (const version of ["v26.10.0", "v26.12.1", "v27.0.0", "v100.1.0"]) {
  test(`a Node ${version} on PATH is new enough`, async (t) => {
    const [checkout, path] = await checkoutWithNode(t, version);
    const { code, stdout } = await run(join(checkout, "scripts/find-node"), [], { PATH: path });
    assert.equal(code, 0);
    assert.equal(stdout, `${join(checkout, "programs/node")}\n`);
  });
}

for (const version of ["v18.20.4", "v26.9.0", "v3.99.0", "nonsense", "v26"]) {
  test(`a Node ${version} on PATH is not new enough`, async (t) => {
    const [checkout, path] = await checkoutWithNode(t, version);
    const { code } = await run(join(checkout, "scripts/find-node"), [], { PATH: path });
    assert.equal(code, 1);
  });
}

test("LARDER_NODE decides which Node runs, and one that is no program is named", async (t) => {
  const [checkout, path] = await checkoutWithNode(t, "v18.0.0");
  const find = join(checkout, "scripts/find-node");
  const named = await run(find, [], { PATH: path, LARDER_NODE: process.execPath });
  assert.equal(named.stdout, `${process.execPath}\n`);
  const wrong = await run(find, [], { PATH: path, LARDER_NODE: "/no/such/node" });
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /LARDER_NODE is '\/no\/such\/node', which is not a program/);
});

test("without root, missing Debian packages are listed with their reasons and the command", async (t) => {
  const [checkout, path] = await checkoutWithNode(t, "v18.0.0");
  for (const [name, says] of [
    ["dpkg-query", "exit 1"],
    ["id", "echo 1000"],
  ] as const) {
    await writeFile(join(checkout, "programs", name), `#!/bin/sh\n${says}\n`, { mode: 0o755 });
  }
  const script = join(checkout, "scripts/system-packages");
  const { code, stderr } = await run(script, ["demo"], { PATH: path });
  assert.equal(code, 1);
  assert.match(stderr, /^make demo: these Debian packages are missing:$/m);
  assert.match(stderr, /^ {2}.*\bthe real registry/m);
  assert.match(stderr, /apt-get install --no-install-recommends .*docker-registry/);
});

test("what several make targets need is listed at once, each package once", async (t) => {
  const [checkout, path] = await checkoutWithNode(t, "v18.0.0");
  for (const [name, says] of [
    ["dpkg-query", "exit 1"],
    ["id", "echo 1000"],
  ] as const) {
    await writeFile(join(checkout, "programs", name), `#!/bin/sh\n${says}\n`, { mode: 0o755 });
  }
  const script = join(checkout, "scripts/system-packages");
  const { stderr } = await run(script, ["setup", "demo", "bundle", "test"], { PATH: path });
  assert.match(stderr, /^make test: these Debian packages are missing:$/m);
  const listed = [...stderr.matchAll(/^ {2}([a-z0-9-]+) {2}/gm)].map(([, name]) => name);
  assert.ok(listed.includes("libatomic1") && listed.includes("docker-registry"), stderr);
  assert.deepEqual(listed, [...new Set(listed)]);
});

test("bin/larder in a checkout without npm packages says to run make setup", async (t) => {
  const [checkout, path] = await checkoutWithNode(t, "v26.10.0");
  const { code, stderr } = await run(join(checkout, "bin/larder"), ["version"], { PATH: path });
  assert.equal(code, 1);
  assert.match(stderr, /^larder: cannot run from .*: run 'make setup' there$/m);
});

test("when every Debian package is there, nothing is installed", async (t) => {
  const [checkout, path] = await checkoutWithNode(t, "v18.0.0");
  for (const [name, says] of [
    ["dpkg-query", "echo installed"],
    ["apt-get", "echo apt-get was run >&2; exit 1"],
  ] as const) {
    await writeFile(join(checkout, "programs", name), `#!/bin/sh\n${says}\n`, { mode: 0o755 });
  }
  const script = join(checkout, "scripts/system-packages");
  assert.deepEqual(await run(script, ["test"], { PATH: path }), {
    code: 0,
    stdout: "",
    stderr: "",
  });
});
