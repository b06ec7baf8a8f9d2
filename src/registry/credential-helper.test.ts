import assert from "node:assert/strict";
import { access, chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { inspect } from "node:util";

import { LarderError } from "../errors.ts";
import { askHelper } from "./credential-helper.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "larder-helper-"));
});
after(() => rm(folder, { recursive: true }));

/** Puts a shell script where `docker-credential-<name>` is looked for. */
async function helper(name: string, script: string): Promise<void> {
  const file = join(folder, `docker-credential-${name}`);
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
}

const never = new AbortController().signal;
const ask = (name: string, more: { signal?: AbortSignal; timeoutMs?: number } = {}) =>
  askHelper(name, "reg.io", {
    environment: { PATH: `${folder}:/usr/bin:/bin`, TOOL_HOME: folder },
    signal: never,
    ...more,
  });

async function failure(name: string, more: { signal?: AbortSignal; timeoutMs?: number } = {}) {
  const error: unknown = await ask(name, more).catch((reason: unknown) => reason);
  assert.ok(error instanceof LarderError, `it answered ${inspect(error)}`);
  assert.ok(!inspect(error).includes("hunter2"), "the secret is in the error");
  return error;
}

async function appears(file: string): Promise<void> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    if (
      await access(file).then(
        () => true,
        () => false,
      )
    )
      return;
    await pause(5);
  }
  assert.fail(`${file} did not appear`);
}

async function isGone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    // A killed process that nobody has waited for yet is gone too.
    const state = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ") Z");
    if (/\) [ZX]/.test(state)) return true;
    await pause(5);
  }
  return false;
}

describe("a credential helper", () => {
  it("is run with get, the server on its standard input and not among its arguments", async () => {
    await helper(
      "echo",
      'read -r server; echo "{\\"Username\\":\\"$*\\",\\"Secret\\":\\"$server\\"}"',
    );
    assert.deepEqual(await ask("echo"), {
      kind: "found",
      credential: { kind: "basic", username: "get", password: "reg.io" },
    });
  });

  it("gets the environment", async () => {
    await helper("env", 'echo "{\\"Username\\":\\"me\\",\\"Secret\\":\\"$TOOL_HOME\\"}"');
    assert.deepEqual(await ask("env"), {
      kind: "found",
      credential: { kind: "basic", username: "me", password: folder },
    });
  });

  it("gives an identity token under the user name <token>", async () => {
    await helper("token", `echo '{"ServerURL":"reg.io","Username":"<token>","Secret":"t"}'`);
    assert.deepEqual(await ask("token"), {
      kind: "found",
      credential: { kind: "identity-token", token: "t" },
    });
  });

  it("that says credentials not found has none", async () => {
    await helper("none", "echo credentials not found in native keychain; exit 1");
    assert.deepEqual(await ask("none"), { kind: "none" });
  });

  it("that is not installed is told apart from one that fails", async () => {
    assert.deepEqual(await ask("not-there"), { kind: "not-installed" });
  });

  it("that fails is an error with its exit code and without what it printed", async () => {
    await helper("fail", "echo hunter2; echo hunter2 >&2; exit 3");
    const error = await failure("fail");
    assert.equal(error.code, "auth");
    assert.match(
      error.message,
      /docker-credential-fail gave no credentials for reg\.io: it ended with exit code 3/,
    );
  });

  it("that may not be executed is an error", async () => {
    await helper("locked", "true");
    await chmod(join(folder, "docker-credential-locked"), 0o644);
    assert.match((await failure("locked")).message, /could not be started \(EACCES\)/);
  });

  it("that is killed is an error", async () => {
    await helper("killed", "kill -9 $$");
    assert.match((await failure("killed")).message, /it was killed/);
  });

  for (const [what, output] of [
    ["no JSON", "hunter2"],
    ["no object", '["hunter2"]'],
    ["no user name", '{"Secret":"hunter2"}'],
    ["no secret", '{"Username":"hunter2"}'],
    ["nothing", ""],
  ] as const) {
    it(`that answers ${what} is an error that does not repeat the answer`, async () => {
      await helper("odd", `printf %s '${output}'`);
      assert.match(
        (await failure("odd")).message,
        /its answer is not a JSON object with Username and Secret/,
      );
    });
  }

  it("that answers without an end is stopped at 64 KiB", async () => {
    await helper("endless", "exec yes hunter2");
    assert.match((await failure("endless")).message, /more than 64 KiB/);
  });

  it("that does not read its input is judged by its answer", async () => {
    await helper("deaf", `exec <&-; echo '{"Username":"me","Secret":"s"}'`);
    assert.equal((await ask("deaf")).kind, "found");
  });

  it("that hangs is killed at its time limit, with all that it started", async () => {
    await helper(
      "hang",
      `sleep 600 & echo $! > "$TOOL_HOME/child.tmp"; mv "$TOOL_HOME/child.tmp" "$TOOL_HOME/child"; wait`,
    );
    const error = await failure("hang", { timeoutMs: 500 });
    assert.match(error.message, /did not answer within 0\.5 s/);
    await appears(join(folder, "child"));
    const child = Number(await readFile(join(folder, "child"), "utf8"));
    assert.ok(await isGone(child), "its child lives on");
  });

  it("is killed when the work is cancelled", async () => {
    await helper(
      "slow",
      `echo $$ > "$TOOL_HOME/pid.tmp"; mv "$TOOL_HOME/pid.tmp" "$TOOL_HOME/pid"; exec sleep 600`,
    );
    const controller = new AbortController();
    const asking = failure("slow", { signal: controller.signal });
    await appears(join(folder, "pid"));
    controller.abort();
    assert.equal((await asking).code, "interrupted");
    assert.ok(await isGone(Number(await readFile(join(folder, "pid"), "utf8"))));
  });

  it("is not started when the work is cancelled already", async () => {
    await helper("mark", 'touch "$TOOL_HOME/started"');
    assert.equal((await failure("mark", { signal: AbortSignal.abort() })).code, "interrupted");
    await assert.rejects(access(join(folder, "started")), { code: "ENOENT" });
  });
});
