import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

export interface CommandOptions {
  readonly cwd?: string;
  /** Added to this process's environment; `undefined` takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
}

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. Throws, with the end of what it said, when it fails. */
export async function runCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    signal: options.signal,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      resolve(signal ?? String(code));
    });
  });
  const [end, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  if (end === "0") return { stdout, stderr };
  const said = (stderr.trim() || stdout.trim()).slice(-2000);
  throw new Error(`${[program, ...args].join(" ")} ended with ${end}: ${said}`);
}
