import { operandTerm, programOf } from "./program.ts";
import type { Verb } from "./verb.ts";

const narrowest = 64;
const widest = 100;

/**
 * The help of one command, or of all where none is named.
 *
 * @param columns of the terminal; 80 where it is not known
 */
export function helpText(verbs: readonly Verb[], name?: string, columns = 80): string {
  const program = programOf(verbs);
  const helpWidth = Math.min(Math.max(columns, narrowest), widest);
  const verb = verbs.find((candidate) => candidate.name === name);
  const command = program.commands.find((candidate) => candidate.name() === name) ?? program;
  command.configureHelp({
    helpWidth,
    minWidthToWrap: 20,
    // Commander would add its own notes on defaults; the definition has said them already.
    optionDescription: (option) => option.description,
    argumentTerm: () => (verb?.operand === undefined ? "" : operandTerm(verb.operand)),
    subcommandTerm: (subcommand) => subcommand.name(),
  });
  const text = command.helpInformation();
  return verb === undefined
    ? `${text}\n${generalNotes}\n`
    : `${text}${examplesOf(verb)}${notesOf(verb)}`;
}

const generalNotes = `'larder help <command>' explains a command.
Exit codes: 0 done, 1 failed, 2 wrong usage, 129 SIGHUP, 130 SIGINT, 143 SIGTERM.
LARDER_DEBUG=1 adds a stack trace to errors.`;

function examplesOf(verb: Verb): string {
  if (verb.examples.length === 0) return "";
  const lines = verb.examples.map(({ about, line }) => `  # ${about}\n  ${line}\n`);
  return `\nExamples:\n${lines.join("")}`;
}

function notesOf(verb: Verb): string {
  if (verb.options.length === 0) return "";
  return `
A flag wins over its variable. In the variable of a repeatable option commas separate values;
--no-<switch> turns off what a variable turned on.
`;
}
