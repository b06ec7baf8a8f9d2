import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { inspect } from "node:util";

import { LarderError } from "../errors.ts";
import { CredentialStore, type CredentialStoreOptions } from "./credentials.ts";
import type { Notice } from "./image.ts";

let folder: string;
let notices: Notice[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "larder-credentials-"));
  notices = [];
});
afterEach(() => rm(folder, { recursive: true }));

const never = new AbortController().signal;
const auth = (username: string) => ({ auth: Buffer.from(`${username}:pw`).toString("base64") });

/** Writes a file below the test's folder and says where it is. */
async function put(name: string, content: object | string): Promise<string> {
  const file = join(folder, name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

async function helper(name: string, script: string): Promise<void> {
  await chmod(await put(`bin/docker-credential-${name}`, `#!/bin/sh\n${script}\n`), 0o755);
}

function store(options: Partial<CredentialStoreOptions> = {}): CredentialStore {
  const environment = { PATH: `${join(folder, "bin")}:/usr/bin:/bin`, ...options.environment };
  const notify = (notice: Notice) => notices.push(notice);
  return new CredentialStore({ notify, home: join(folder, "home"), ...options, environment });
}

/** Whose credential it is: its user name or token; undefined where there is none. */
async function who(from: CredentialStore, registry: string, repository = "team/app") {
  const found = await from.lookup(registry, repository, never);
  return found && (found.kind === "basic" ? found.username : found.token);
}

async function failure(from: CredentialStore, registry = "reg.io"): Promise<LarderError> {
  const error: unknown = await who(from, registry).catch((reason: unknown) => reason);
  assert.ok(error instanceof LarderError, `it answered ${inspect(error)}`);
  return error;
}

describe("which credential is found", () => {
  it("the longest matching path scope wins, wherever it stands in the file", async () => {
    const auths = {
      "reg.io/team": auth("team"),
      "reg.io/team/app": auth("app"),
      "reg.io": auth("all"),
    };
    const from = store({ path: await put("c.json", { auths }) });
    assert.equal(await who(from, "reg.io", "team/app"), "app");
    assert.equal(await who(from, "reg.io", "team/app/sub"), "app");
    assert.equal(await who(from, "reg.io", "team/other"), "team");
    assert.equal(await who(from, "reg.io", "else"), "all");
  });

  it("a path scope covers whole components", async () => {
    const from = store({ path: await put("c.json", { auths: { "reg.io/team": auth("team") } }) });
    assert.equal(await who(from, "reg.io", "teamwork/app"), undefined);
  });

  it("a registry with another port is another registry", async () => {
    const from = store({ path: await put("c.json", { auths: { "reg.io:5000": auth("me") } }) });
    assert.equal(await who(from, "reg.io:5000"), "me");
    assert.equal(await who(from, "reg.io"), undefined);
  });

  for (const key of [
    "docker.io",
    "index.docker.io",
    "https://index.docker.io/v1/",
    "registry-1.docker.io",
  ]) {
    it(`docker.io and index.docker.io are one: a key ${key} is for both`, async () => {
      const from = store({ path: await put("c.json", { auths: { [key]: auth("hub") } }) });
      assert.equal(await who(from, "docker.io"), "hub");
      assert.equal(await who(from, "index.docker.io"), "hub");
      assert.equal(await who(from, "registry-1.docker.io"), "hub");
    });
  }

  it("there is none for a registry that no file mentions", async () => {
    const from = store({ path: await put("c.json", { auths: { "reg.io": auth("me") } }) });
    assert.equal(await who(from, "other.io"), undefined);
  });
});

describe("where credentials are looked for", () => {
  const auths = (username: string) => ({ auths: { "reg.io": auth(username) } });

  it("a named file is the only place", async () => {
    await put("home/.docker/config.json", auths("home"));
    const from = store({ path: await put("c.json", { auths: { "other.io": auth("named") } }) });
    assert.equal(await who(from, "reg.io"), undefined);
  });

  it("a named directory holds config.json", async () => {
    await put("etc/config.json", auths("me"));
    assert.equal(await who(store({ path: join(folder, "etc") }), "reg.io"), "me");
  });

  it("~/.docker/config.json is a usual place", async () => {
    await put("home/.docker/config.json", auths("home"));
    assert.equal(await who(store(), "reg.io"), "home");
  });

  it("home is HOME of the environment where nothing else is said", async () => {
    await put("home/.docker/config.json", auths("home"));
    const environment = { HOME: join(folder, "home") };
    const from = new CredentialStore({ environment, notify: () => undefined });
    assert.equal(await who(from, "reg.io"), "home");
  });

  it("$DOCKER_CONFIG/config.json stands in for the one at home", async () => {
    await put("home/.docker/config.json", auths("home"));
    await put("docker/config.json", { auths: { "other.io": auth("docker") } });
    const from = store({ environment: { DOCKER_CONFIG: join(folder, "docker") } });
    assert.equal(await who(from, "other.io"), "docker");
    assert.equal(await who(from, "reg.io"), undefined);
  });

  it("$XDG_RUNTIME_DIR/containers/auth.json is a usual place, after docker's", async () => {
    await put("run/containers/auth.json", {
      auths: { "reg.io": auth("podman"), "other.io": auth("podman") },
    });
    await put("home/.docker/config.json", auths("docker"));
    const from = store({ environment: { XDG_RUNTIME_DIR: join(folder, "run") } });
    assert.equal(await who(from, "other.io"), "podman");
    assert.equal(await who(from, "reg.io"), "docker");
  });

  it("$REGISTRY_AUTH_FILE comes before the usual places", async () => {
    await put("home/.docker/config.json", auths("home"));
    const named = await put("auth.json", auths("named"));
    assert.equal(
      await who(store({ environment: { REGISTRY_AUTH_FILE: named } }), "reg.io"),
      "named",
    );
  });

  it("the longest scope wins across files too", async () => {
    await put("home/.docker/config.json", auths("docker"));
    await put("run/containers/auth.json", { auths: { "reg.io/team": auth("podman") } });
    const from = store({ environment: { XDG_RUNTIME_DIR: join(folder, "run") } });
    assert.equal(await who(from, "reg.io"), "podman");
  });

  it("usual places that are missing are no error", async () => {
    const environment = { DOCKER_CONFIG: "/nowhere/at/all", XDG_RUNTIME_DIR: join(folder, "no") };
    assert.equal(await who(store({ environment }), "reg.io"), undefined);
    assert.deepEqual(notices, []);
  });

  it("a usual place that cannot be read is one warning", async () => {
    await mkdir(join(folder, "home/.docker/config.json"), { recursive: true });
    const from = store();
    assert.equal(await who(from, "reg.io"), undefined);
    assert.equal(await who(from, "reg.io"), undefined);
    assert.deepEqual(
      notices.map((notice) => notice.kind),
      ["warning"],
    );
    assert.match(inspect(notices), /home\/\.docker\/config\.json: it is not a regular file/);
  });
});

describe("a registry configuration that cannot be used", () => {
  it("a named file that is missing is an error with its name", async () => {
    const error = await failure(store({ path: join(folder, "gone.json") }));
    assert.equal(error.code, "usage");
    assert.match(error.message, /gone\.json: it does not exist: .*--registry-config/);
  });

  it("a named directory without a config.json is an error with the file's name", async () => {
    const error = await failure(store({ path: folder }));
    assert.match(error.message, /\/config\.json: it does not exist/);
  });

  it("a file that $REGISTRY_AUTH_FILE names and that is missing is an error with its name", async () => {
    const environment = { REGISTRY_AUTH_FILE: join(folder, "gone.json") };
    const error = await failure(store({ environment }));
    assert.equal(error.code, "usage");
    assert.match(error.message, /gone\.json: it does not exist/);
  });

  it("a named file that is malformed is an error with its name and without its content", async () => {
    const error = await failure(store({ path: await put("bad.json", "{hunter2") }));
    assert.equal(error.code, "usage");
    assert.match(error.message, /bad\.json/);
    assert.ok(!inspect(error).includes("hunter2"));
  });

  it("a usual file that is malformed is an error with its name", async () => {
    await put("home/.docker/config.json", "{");
    const error = await failure(store());
    assert.equal(error.code, "auth");
    assert.match(error.message, /home\/\.docker\/config\.json: it is not JSON/);
  });

  it("a named file that is a device is an error at once", async () => {
    assert.match((await failure(store({ path: "/dev/zero" }))).message, /not a regular file/);
  });

  it("a file over 4 MiB is an error", async () => {
    const path = await put("big.json", JSON.stringify({ x: "x".repeat(4 * 1024 * 1024) }));
    assert.match((await failure(store({ path }))).message, /larger than 4 MiB/);
  });

  it("that nobody named and that is not there is passed over in silence", async () => {
    assert.equal(await who(store(), "reg.io"), undefined);
    await store().check();
    assert.deepEqual(notices, []);
  });

  it("is known before a registry asks for credentials, with check", async () => {
    await assert.rejects(store({ path: join(folder, "gone.json") }).check(), { code: "usage" });
    await store().check();
  });

  it("does not stop a registry whose own entry is good", async () => {
    const auths = { "bad.io": { auth: "%" }, "reg.io": auth("me") };
    const from = store({ path: await put("c.json", { auths }) });
    assert.equal(await who(from, "reg.io"), "me");
    assert.match((await failure(from, "bad.io")).message, /auths entry bad\.io/);
  });
});

describe("a registry configuration that changes", () => {
  it("is read again when it was written to", async () => {
    const path = await put("c.json", { auths: { "reg.io": auth("one") } });
    const from = store({ path });
    assert.equal(await who(from, "reg.io"), "one");
    await put("c.json", { auths: { "reg.io": auth("two") } });
    assert.equal(await who(from, "reg.io"), "two");
  });

  it("is read again when another file was put in its place", async () => {
    const path = await put("c.json", { auths: { "reg.io": auth("one") } });
    const from = store({ path });
    assert.equal(await who(from, "reg.io"), "one");
    await rename(await put("new.json", { auths: { "reg.io": auth("two") } }), path);
    assert.equal(await who(from, "reg.io"), "two");
  });

  it("is read again when a mounted secret's link was turned", async () => {
    await put("1/config.json", { auths: { "reg.io": auth("one") } });
    await put("2/config.json", { auths: { "reg.io": auth("two") } });
    const path = join(folder, "mount");
    await symlink("1", path);
    const from = store({ path });
    assert.equal(await who(from, "reg.io"), "one");
    await symlink("2", `${path}.new`);
    await rename(`${path}.new`, path);
    assert.equal(await who(from, "reg.io"), "two");
  });

  it("is found when it appears later in a usual place", async () => {
    const from = store();
    assert.equal(await who(from, "reg.io"), undefined);
    await put("home/.docker/config.json", { auths: { "reg.io": auth("me") } });
    assert.equal(await who(from, "reg.io"), "me");
  });
});

describe("credential helpers", () => {
  const says = (username: string) => `echo '{"Username":"${username}","Secret":"pw"}'`;

  it("credHelpers names one for a registry, credsStore one for all others", async () => {
    await helper("mine", says("mine"));
    await helper("all", says("all"));
    const path = await put("c.json", { credHelpers: { "reg.io": "mine" }, credsStore: "all" });
    assert.equal(await who(store({ path }), "reg.io"), "mine");
    assert.equal(await who(store({ path }), "other.io"), "all");
  });

  it("comes before what the file holds for the same scope", async () => {
    await helper("mine", says("mine"));
    const path = await put("c.json", { auths: { "reg.io": auth("file") }, credsStore: "mine" });
    assert.equal(await who(store({ path }), "reg.io"), "mine");
  });

  it("comes after what the file holds for a longer scope", async () => {
    await helper("mine", says("mine"));
    const path = await put("c.json", {
      auths: { "reg.io/team": auth("file") },
      credsStore: "mine",
    });
    assert.equal(await who(store({ path }), "reg.io"), "file");
  });

  it("that has no credentials leaves it to the file", async () => {
    await helper("none", "echo credentials not found in native keychain; exit 1");
    const path = await put("c.json", { auths: { "reg.io": auth("file") }, credsStore: "none" });
    assert.equal(await who(store({ path }), "reg.io"), "file");
    assert.equal(await who(store({ path }), "other.io"), undefined);
  });

  it("an empty name in credHelpers keeps credsStore away from that registry", async () => {
    await helper("all", says("all"));
    const path = await put("c.json", { credHelpers: { "reg.io": "" }, credsStore: "all" });
    assert.equal(await who(store({ path }), "reg.io"), undefined);
  });

  it("is asked for Docker Hub by both its names", async () => {
    await helper(
      "hub",
      `read -r s; [ "$s" = docker.io ] && ${says("hub")} || { echo credentials not found; exit 1; }`,
    );
    const path = await put("c.json", { credsStore: "hub" });
    assert.equal(await who(store({ path }), "docker.io"), "hub");
  });

  it("that is not installed is one warning, and the rest goes on", async () => {
    const path = await put("c.json", { auths: { "reg.io": auth("file") }, credsStore: "absent" });
    const from = store({ path });
    assert.equal(await who(from, "reg.io"), "file");
    assert.equal(await who(from, "docker.io"), undefined);
    assert.equal(notices.length, 1);
    assert.match(inspect(notices), /docker-credential-absent, which is not installed/);
  });

  it("that fails is an error, not a fall-back to something else", async () => {
    await helper("fail", "echo hunter2; exit 1");
    const path = await put("c.json", { auths: { "reg.io": auth("file") }, credsStore: "fail" });
    const error = await failure(store({ path }));
    assert.equal(error.code, "auth");
    assert.match(error.message, /docker-credential-fail/);
    assert.ok(!inspect(error).includes("hunter2"));
  });

  it("that hangs is an error at its time limit", async () => {
    await helper("hang", "exec sleep 600");
    const path = await put("c.json", { credsStore: "hang" });
    const error = await failure(store({ path, helperTimeoutMs: 200 }));
    assert.match(error.message, /did not answer within 0\.2 s/);
  });
});
