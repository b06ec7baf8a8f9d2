import type { LarderError } from "../errors.ts";
import { readCommandLine } from "./command-line.ts";
import { exitCodeOf, failureOf, linesOf } from "./failure.ts";
import { checkRuntime } from "./runtime-check.ts";
import type { Shell } from "./shell.ts";
import type { Task, Verb } from "./verb.ts";

/**
 * Runs one command line, from its words to its exit code; every error ends here as one line.
 *
 * @param words what follows the program's name
 */
export async function run(
  words: readonly string[],
  verbs: readonly Verb[],
  shell: Shell,
): Promise<number> {
  try {
    checkRuntime();
    const task = read(words, verbs, shell);
    return await task(shell);
  } catch (error) {
    const failure = failureOf(error, shell.signal);
    shell.err.write(linesOf(failure, shell.environment));
    return exitCodeOf(failure);
  }
}

function read(words: readonly string[], verbs: readonly Verb[], shell: Shell): Task {
  try {
    return readCommandLine(words, verbs, shell.environment);
  } catch (error) {
    const failure = failureOf(error, shell.signal);
    refuse(failure, words, verbs, shell);
    throw failure;
  }
}

/** A script that asked for JSON gets it for a line that could not be read, too. */
function refuse(
  failure: LarderError,
  words: readonly string[],
  verbs: readonly Verb[],
  shell: Shell,
): void {
  const verb = verbs.find(({ name }) => name === words[0]);
  if (verb?.refusal === undefined || !asksForJson(words, shell.environment)) return;
  shell.out.write(`${JSON.stringify(verb.refusal(failure))}\n`);
}

function asksForJson(words: readonly string[], environment: NodeJS.ProcessEnv): boolean {
  let form = environment["LARDER_OUTPUT"];
  for (const [index, word] of words.entries()) {
    if (word === "--") break;
    if (word === "--output") form = words[index + 1];
    if (word.startsWith("--output=")) form = word.slice("--output=".length);
  }
  return form === "json";
}
