import { PlainReporter } from "./reporter-plain.ts";
import { QuietReporter } from "./reporter-quiet.ts";
import { TerminalReporter } from "./reporter-terminal.ts";
import type { Reporter } from "./reporter.ts";
import type { Shell } from "./shell.ts";

/** The reporter that fits what standard error is. */
export function reporterFor(quiet: boolean, shell: Shell): Reporter {
  if (quiet) return new QuietReporter(shell.err);
  return shell.err.terminal ? new TerminalReporter(shell) : new PlainReporter(shell);
}
