import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

export interface ServerOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The file that standard output and error are added to. */
  readonly log: string;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Patience {
  /** Default 60,000, far beyond what a machine under load needs: only what never comes fails. */
  readonly milliseconds?: number;
  /** How long to wait between two looks; default 20. */
  readonly everyMilliseconds?: number;
}

/** How much of a log is worth quoting in an error, in characters. */
const quoted = 2_000;

/**
 * A program that runs until it is stopped. It ends with this process, however that ends: the kernel
 * kills it when the thread that started it is gone, so nothing has to survive to do so.
 */
export class ServerProcess {
  readonly name: string;
  readonly pid: number;
  /** Resolves with the exit code or the signal, in words. */
  readonly ended: Promise<string>;
  readonly #log: string;
  readonly #child: ChildProcess;

  private constructor(options: ServerOptions, child: ChildProcess, pid: number) {
    this.name = basename(options.program);
    this.pid = pid;
    this.#log = options.log;
    this.#child = child;
    this.ended = once(child, "exit").then(
      ([code, signal]: (number | string | null)[]) => `${code ?? signal}`,
    );
  }

  /** @throws where the program cannot be started at all */
  static async start(options: ServerOptions): Promise<ServerProcess> {
    const log = openSync(options.log, "a");
    // util-linux's setpriv becomes the program, so the pid is the program's own.
    const args = ["--pdeathsig", "KILL", options.program, ...options.args];
    const child = spawn("setpriv", args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    try {
      await once(child, "spawn");
    } catch (cause) {
      throw new Error(`${options.program} does not start: apt-get install util-linux`, { cause });
    }
    if (child.pid === undefined) throw new Error(`${options.program} has no process id`);
    return new ServerProcess(options, child, child.pid);
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The end of what it said. */
  async said(): Promise<string> {
    return (await readFile(this.#log, "utf8").catch(() => "")).trim().slice(-quoted);
  }

  /**
   * Waits until the server answers.
   * @throws when the time is over, or at once where the program ends, with the end of its log
   */
  async untilReady(
    ready: () => Promise<boolean>,
    { milliseconds = 60_000, everyMilliseconds = 20 }: Patience = {},
  ): Promise<void> {
    const deadline = performance.now() + milliseconds;
    while (!(await ready().catch(() => false))) {
      if (!this.running) {
        throw new Error(`${this.name} ended with ${await this.ended}: ${await this.said()}`);
      }
      if (performance.now() > deadline) {
        const waited = `${this.name} was not ready within ${milliseconds / 1000} s`;
        throw new Error(`${waited}: ${await this.said()}`);
      }
      await delay(everyMilliseconds);
    }
  }

  /** Stops it and waits until it is gone: asked first, killed when it takes longer than that. */
  async stop(graceMilliseconds = 5_000): Promise<void> {
    if (this.running) this.#child.kill("SIGTERM");
    const waiting = new AbortController();
    await Promise.race([
      this.ended,
      delay(graceMilliseconds, undefined, { signal: waiting.signal }).catch(() => undefined),
    ]);
    waiting.abort();
    await this.kill();
  }

  /** Kills it and waits until it is gone. */
  async kill(): Promise<void> {
    if (this.running) this.#child.kill("SIGKILL");
    await this.ended;
  }

  /** SIGSTOP, SIGCONT and the like. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}
