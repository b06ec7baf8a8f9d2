import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";

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
    const { cwd, signal, env, path = [] } = this.#options;
    signal.throwIfAborted();
    process.stdout.write(`$ ${command}\n`);
    const PATH = [bin, ...path, process.env["PATH"] ?? ""].join(delimiter);
    const child = spawn("sh", ["-c", command], {
      cwd,
      env: { ...process.env, ...env, PATH },
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
}
