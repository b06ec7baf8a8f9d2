import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import type { Certificates } from "./certificates.ts";
import { runCommand } from "./command.ts";

export interface DockerRegistryOptions {
  /** Speak https with this certificate. */
  readonly tls?: Certificates;
  /** Ask for this user by Basic authentication. */
  readonly user?: { readonly username: string; readonly password: string };
}

export interface DockerRegistry {
  /** `127.0.0.1:34567`, as references name it. */
  readonly host: string;
  /** `http://127.0.0.1:34567`. */
  readonly url: string;
  readonly pid: number;
  /** Ends it and removes what it stored. Safe to call twice. */
  stop(): Promise<void>;
}

const startMilliseconds = 20_000;
const stopMilliseconds = 5_000;

/** Starts Debian's docker-registry on a free port, with a folder of its own, which goes with it. */
export async function startDockerRegistry(
  options: DockerRegistryOptions = {},
): Promise<DockerRegistry> {
  const dir = await mkdtemp(join(tmpdir(), "larder-docker-registry-"));
  try {
    return await start(dir, options);
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

async function start(dir: string, options: DockerRegistryOptions): Promise<DockerRegistry> {
  const host = `127.0.0.1:${await freePort()}`;
  const log = join(dir, "log");
  const config = join(dir, "config.json");
  await writeFile(config, JSON.stringify(await configuration(dir, host, options)));
  const child = spawn("sh", ["-c", watchdog, "sh", config, log, dir], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  const { pid } = child;
  if (pid === undefined) throw new Error("cannot start a shell for docker-registry");
  const atExit = (): void => rmSync(dir, { recursive: true, force: true });
  process.once("exit", atExit);
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= end(child, dir).finally(() => process.off("exit", atExit));
    return stopped;
  };
  try {
    await untilListening(child, host, log);
  } catch (error) {
    await stop();
    throw error;
  }
  return { host, url: `${options.tls ? "https" : "http"}://${host}`, pid, stop };
}

// Standard input is the pipe of whoever started it: it closes when that process ends, however it ends.
const watchdog = `
command -v docker-registry >/dev/null || exit 127
exec 3<&0
docker-registry serve "$1" >"$2" 2>&1 3<&- &
registry=$!
(read -r _ <&3; kill $registry) >/dev/null 2>&1 &
reader=$!
exec 3<&-
wait $registry
code=$?
kill $reader 2>/dev/null
# Ended by the reader, so nobody looks into the folder any more.
[ $code = 143 ] && rm -rf "$3"
exit $code
`;

async function configuration(dir: string, addr: string, { tls, user }: DockerRegistryOptions) {
  const http: Record<string, unknown> = { addr };
  if (tls) {
    const [certificate, key] = [join(dir, "tls.pem"), join(dir, "tls.key")];
    await writeFile(certificate, tls.certificate);
    await writeFile(key, tls.key, { mode: 0o600 });
    http["tls"] = { certificate, key };
  }
  const auth = user && { htpasswd: { realm: "larder test", path: await passwordFile(dir, user) } };
  return {
    version: "0.1",
    log: { level: "error", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(dir, "store") }, delete: { enabled: true } },
    http,
    ...(auth && { auth }),
  };
}

async function passwordFile(
  dir: string,
  { username, password }: { username: string; password: string },
): Promise<string> {
  const path = join(dir, "htpasswd");
  const { stdout } = await runCommand("htpasswd", ["-Bbn", username, password]).catch((cause) => {
    throw new Error("htpasswd does not run: apt-get install apache2-utils", { cause });
  });
  await writeFile(path, stdout);
  return path;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

async function untilListening(child: ChildProcess, host: string, log: string): Promise<void> {
  const deadline = Date.now() + startMilliseconds;
  const colon = host.lastIndexOf(":");
  const target = { host: host.slice(0, colon), port: Number(host.slice(colon + 1)) };
  while (Date.now() < deadline) {
    if (child.exitCode !== null) {
      const said = (await readFile(log, "utf8").catch(() => "")).trim();
      throw new Error(
        child.exitCode === 127
          ? "there is no docker-registry here: apt-get install docker-registry"
          : `docker-registry ended with ${child.exitCode}: ${said.slice(-1000)}`,
      );
    }
    if (await answers(target)) return;
    await delay(20);
  }
  throw new Error(`docker-registry did not listen on ${host} within ${startMilliseconds} ms`);
}

async function answers(target: { host: string; port: number }): Promise<boolean> {
  const socket = connect(target);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function end(child: ChildProcess, dir: string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, "exit", { signal: AbortSignal.timeout(stopMilliseconds) });
    child.stdin?.end();
    await ended.catch(() => child.kill("SIGKILL"));
  }
  await rm(dir, { recursive: true, force: true });
}
