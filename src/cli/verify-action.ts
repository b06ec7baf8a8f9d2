import { checkCachePath, checkName } from "../cache/names.ts";
import { verifyCache } from "../cache/verify.ts";
import { failureOf } from "./failure.ts";
import { reporterFor } from "./reporter-choice.ts";
import type { Shell } from "./shell.ts";
import { verifyReport } from "./verify-report.ts";
import { failed, verifyResult, type VerifyResult } from "./verify-result.ts";

export interface VerifyGiven {
  readonly "cache-path": string;
  readonly name: string | undefined;
  readonly deep: boolean;
  readonly output: string;
}

/** Does what a command line of `larder verify` says; returns the exit code. */
export async function verify(given: VerifyGiven, shell: Shell): Promise<number> {
  const { deep } = given;
  try {
    const cachePath = checkCachePath(given["cache-path"]);
    const name = given.name === undefined ? undefined : checkName(given.name);
    const resources = await watched(shell, (onFile) =>
      verifyCache(cachePath, {
        deep,
        signal: shell.signal,
        onFile,
        ...(name === undefined ? {} : { name }),
      }),
    );
    const result = verifyResult({ cachePath, deep, name }, resources);
    show(result, given, shell);
    return result.ok ? 0 : 1;
  } catch (error) {
    const failure = failureOf(error, shell.signal);
    const asked = { cachePath: given["cache-path"], deep };
    if (given.output === "json") show(failed(asked, failure), given, shell);
    throw failure;
  }
}

/** Reading every byte may take minutes: on a terminal, the file at hand is shown meanwhile. */
async function watched<T>(
  shell: Shell,
  work: (onFile: (name: string, file: string) => void) => Promise<T>,
): Promise<T> {
  const reporter = reporterFor(!shell.err.terminal, shell);
  try {
    return await work((name, file) => {
      reporter.status(`checking ${name}/${file}`);
    });
  } finally {
    reporter.end();
  }
}

function show(result: VerifyResult, given: VerifyGiven, shell: Shell): void {
  shell.out.write(given.output === "json" ? `${JSON.stringify(result)}\n` : verifyReport(result));
}
