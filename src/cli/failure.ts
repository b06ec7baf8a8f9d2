import { interrupted, LarderError, printable } from "../errors.ts";

/** Any error as one that Larder knows: what nobody expected is `internal`. */
export function failureOf(error: unknown, signal: AbortSignal): LarderError {
  // A disk that could not be cleared up is told even then: "nothing was left behind" would be a lie.
  const stays = error instanceof LarderError && ["interrupted", "disk"].includes(error.code);
  if (stays) return error;
  // Whatever else breaks once everything has been told to stop, broke because of that.
  if (signal.aborted) return interrupted("not finished", error);
  if (error instanceof LarderError) return error;
  return new LarderError("internal", {
    what: "unexpected error",
    why: error instanceof Error && error.message !== "" ? error.message : String(error),
    todo: "run it again with LARDER_DEBUG=1 and report what it prints",
    cause: error,
  });
}

/** The exit code of an error that no signal caused. */
export function exitCodeOf(error: LarderError): number {
  // A reference is a word of the command line, too.
  return error.code === "usage" || error.code === "reference" ? 2 : 1;
}

/** What standard error gets: one line; with LARDER_DEBUG=1 the stack and every cause's, too. */
export function linesOf(error: LarderError, environment: NodeJS.ProcessEnv): string {
  const line = `larder: ${error.message}\n`;
  if (environment["LARDER_DEBUG"] !== "1") return line;
  const stacks: string[] = [];
  let next: unknown = error;
  while (next instanceof Error && stacks.length < 10) {
    const stack = next.stack ?? String(next);
    stacks.push(stack.split("\n").map(printable).join("\n"));
    next = next.cause;
  }
  return `${line}${stacks.join("\ncaused by: ")}\n`;
}
