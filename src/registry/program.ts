import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";

export interface ProgramOptions {
  /** Written to its standard input, which is then closed. */
  readonly input: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly largestOutputBytes: number;
}

export type ProgramResult =
  | { readonly kind: "exit"; readonly code: number; readonly output: Buffer }
  /** `signal`: somebody else killed it. */
  | { readonly kind: "signal" | "timeout" | "too-much-output" | "aborted" };

/**
 * Runs a program to its end within bounds of time and output. When a bound is passed it is killed
 * with all that it started. Its standard error is dropped.
 *
 * @throws the system's error when it cannot be started
 */
export async function runBounded(
  program: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<ProgramResult> {
  const { signal, timeoutMs } = options;
  if (signal.aborted) return { kind: "aborted" };
  const ended = Promise.withResolvers<ProgramResult>();
  // Detached, so that it leads a process group, which can be killed as a whole.
  const child = spawn(program, args, {
    env: options.environment,
    stdio: ["pipe", "pipe", "ignore"],
    detached: true,
  });
  const onAbort = () => ended.resolve({ kind: "aborted" });
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(() => ended.resolve({ kind: "timeout" }), timeoutMs);
  try {
    feed(child, options, ended);
    const result = await ended.promise;
    if (result.kind !== "exit" && result.kind !== "signal") killGroup(child);
    return result;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

function feed(
  child: ChildProcessByStdio<Writable, Readable, null>,
  { input, largestOutputBytes }: ProgramOptions,
  ended: PromiseWithResolvers<ProgramResult>,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  child.on("error", ended.reject);
  child.stdout.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > largestOutputBytes) ended.resolve({ kind: "too-much-output" });
    else chunks.push(chunk);
  });
  child.once("close", (code) => {
    ended.resolve(
      code === null ? { kind: "signal" } : { kind: "exit", code, output: Buffer.concat(chunks) },
    );
  });
  // It may end without reading its input; how it ended says more than the broken pipe does.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
}

function killGroup(child: ChildProcessByStdio<Writable, Readable, null>): void {
  child.stdin.destroy();
  child.stdout.destroy();
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It ended by itself just now.
  }
}
