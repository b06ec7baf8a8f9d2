import { failureOf } from "./failure.ts";
import { fill } from "./import-fill.ts";
import type { ImportGiven } from "./import-options.ts";
import { parseImport } from "./import-request.ts";
import { failed, filledPart, nothingYet, summaryOf, type ImportResult } from "./import-result.ts";
import { tuneMemory } from "./memory.ts";
import { NoticeTally } from "./notice-tally.ts";
import { reporterFor } from "./reporter-choice.ts";
import type { Shell } from "./shell.ts";

/** Does what a command line of `larder import` says; returns the exit code. */
export async function importImage(
  given: ImportGiven,
  operands: readonly string[],
  shell: Shell,
): Promise<number> {
  tuneMemory();
  const [source = ""] = operands;
  const startedAt = shell.now();
  const reporter = reporterFor(given.quiet, shell);
  const tally = new NoticeTally(reporter);
  const resultOf = (part: Partial<ImportResult>): ImportResult => ({
    ...nothingYet,
    name: given.name,
    cachePath: given["cache-path"],
    source,
    ...part,
    seconds: Math.round(shell.now() - startedAt) / 1000,
    retries: tally.retries,
    warnings: tally.warnings,
  });
  try {
    const request = parseImport(given, source);
    const filled = await fill(request, { shell, reporter, tally });
    const { name, cachePath } = request;
    const result = resultOf({ name, cachePath, ...(await filledPart(request, filled)) });
    reporter.end();
    show(result, given, shell);
    return 0;
  } catch (error) {
    reporter.end();
    const failure = failureOf(error, shell.signal);
    if (given.output === "json") show(failed(resultOf({}), failure), given, shell);
    throw failure;
  }
}

function show(result: ImportResult, given: ImportGiven, shell: Shell): void {
  if (given.output === "json") shell.out.write(`${JSON.stringify(result)}\n`);
  else if (!given.quiet) shell.out.write(`${summaryOf(result)}\n`);
}
