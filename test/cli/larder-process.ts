import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The program as it runs from a checkout. */
export const mainFile = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** The same as it ships; `make bundle` makes it, and so does `make test`. */
export const bundleFile = fileURLToPath(new URL("../../dist/larder.mjs", import.meta.url));

export interface Finished {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
}

export interface StartOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** The entry point, where it is not the sources'. */
  readonly main?: string;
  /** A file descriptor to take the place of standard output. */
  readonly stdout?: number;
}

/** Starts `larder` as a process of its own, with no variable of the test's that could reach it. */
export function start(words: readonly string[], options: StartOptions = {}): Started {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [options.main ?? mainFile, ...words], {
    env: { PATH, HOME, ...options.env },
    cwd: options.cwd,
    stdio: ["ignore", options.stdout ?? "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const finished = new Promise<Finished>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exitCode, signal) => {
      resolve({ exitCode, signal, stdout, stderr });
    });
  });
  return { child, finished };
}

/** Runs `larder` to its end. */
export function larder(words: readonly string[], options?: StartOptions): Promise<Finished> {
  return start(words, options).finished;
}
