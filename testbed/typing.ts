import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { delimiter, join } from "node:path";

import { until } from "./until.ts";

const bin = join(import.meta.dirname, "..", "bin");

export interface TypistOptions {
  readonly cwd: string;
  readonly signal: AbortSignal;
  /** Besides this process's, and `bin/` on the path. */
  readonly env?: NodeJS.ProcessEnv;
  /** Further folders on the path. */
  readonly path?: readonly string[];
}

/** Says what comes next. */
export function say(text: string): void {
  process.stdout.write(`\n# ${text}\n`);
}

/** Types commands as a person would, and shows them with what they print. */
export class Typist {
  readonly #options: TypistOptions;

  constructor(options: TypistOptions) {
    this.#options = options;
  }

  /** Runs a command in a shell, and sees to it that it ends as it should. */
  async type(command: string, expected = 0): Promise<void> {
    const { cwd, signal } = this.#options;
    signal.throwIfAborted();
    process.stdout.write(`$ ${command}\n`);
    const child = spawn("sh", ["-c", command], {
      cwd,
      env: this.#env(),
      stdio: ["ignore", "inherit", "inherit"],
      signal,
    });
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    if (expected !== 0) process.stdout.write(`(exit ${code})\n`);
    if (code !== expected) throw new Error(`that should have ended with ${expected}, not ${code}`);
  }

  /** Starts one program, with assignments before and redirections behind it, beside what is typed next. */
  start(command: string): Started {
    const { cwd, signal } = this.#options;
    signal.throwIfAborted();
    process.stdout.write(`$ ${command} &\n`);
    // By exec, so that the process is the program and no shell that waits for it.
    const child = spawn("sh", ["-c", `exec env ${command}`], {
      cwd,
      env: this.#env(),
      stdio: ["ignore", "pipe", "inherit"],
    });
    return new Started(command, child, signal);
  }

  #env(): NodeJS.ProcessEnv {
    const { env, path = [] } = this.#options;
    const PATH = [bin, ...path, process.env["PATH"] ?? ""].join(delimiter);
    return { ...process.env, ...env, PATH };
  }
}

/** A program that runs beside what is typed; what it prints is shown as it comes. */
export class Started implements AsyncDisposable {
  readonly #command: string;
  readonly #child: ChildProcess;
  readonly #signal: AbortSignal;
  readonly #ended: Promise<unknown>;
  #unread = "";

  constructor(command: string, child: ChildProcess, signal: AbortSignal) {
    this.#command = command;
    this.#child = child;
    this.#signal = signal;
    this.#ended = once(child, "close");
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      process.stdout.write(text);
      this.#unread += text;
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Waits until it prints what fits, and goes on behind that the next time. */
  async prints(what: string, pattern: RegExp): Promise<void> {
    await this.while(what, () => {
      const found = pattern.exec(this.#unread);
      if (found === null) return false;
      this.#unread = this.#unread.slice(found.index + found[0].length);
      return true;
    });
  }

  /** Waits until a condition holds, for as long as it runs and nobody interrupts. */
  async while(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    await until(what, async () => {
      this.#signal.throwIfAborted();
      if (await holds()) return true;
      if (!this.#runs()) throw new Error(`ended before its time: ${this.#command}`);
      return false;
    });
  }

  /** Waits for its end: its exit code, or the signal that ended it. */
  async end(): Promise<number | string | null> {
    await this.#ended;
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#runs()) this.#child.kill("SIGKILL");
    await this.#ended;
  }

  #runs(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }
}
