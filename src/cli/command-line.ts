import { CommanderError, type Command } from "commander";

import { LarderError } from "../errors.ts";
import { helpText } from "./help-text.ts";
import { operandTerm, programOf } from "./program.ts";
import type { Flags } from "./settle.ts";
import type { Task, Verb } from "./verb.ts";
import { madeOf } from "./version.ts";

/**
 * Reads a command line and says what it asks for.
 *
 * @param words what follows the program's name
 * @throws LarderError `usage`
 */
export function readCommandLine(
  words: readonly string[],
  verbs: readonly Verb[],
  environment: NodeJS.ProcessEnv,
): Task {
  if (words.length === 0) {
    throw usage("no command", `it must be one of ${verbs.map((verb) => verb.name).join(", ")}`);
  }
  if (words.length === 1 && (words[0] === "--version" || words[0] === "-V")) {
    return say(() => `${madeOf()["larder"]}\n`);
  }

  const choice: { task?: Task } = {};
  const program = programOf(verbs, (verb, command) => {
    choice.task = bind(verb, command, environment);
  });
  try {
    program.parse(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const verb = verbs.find(({ name }) => name === words[0]);
    if (error.exitCode === 0) return say((columns) => helpText(verbs, verb?.name, columns));
    throw refusalOf(error, verb);
  }
  if (choice.task === undefined) throw new Error("the command line chose nothing");
  return choice.task;
}

function say(text: (columns: number | undefined) => string): Task {
  return async (shell) => {
    shell.out.write(text(shell.out.columns));
    return 0;
  };
}

function bind(verb: Verb, command: Command, environment: NodeJS.ProcessEnv): Task {
  const flags = flagsOf(command);
  checkOperands(verb, command.args);
  return verb.bind({ flags, environment, todo: todoOf(verb) }, command.args);
}

function flagsOf(command: Command): Flags {
  const flags = new Map<string, boolean | readonly string[]>();
  for (const option of command.options) {
    if (option.negate) continue;
    const value: unknown = command.getOptionValue(option.attributeName());
    if (typeof value === "boolean") flags.set(option.name(), value);
    if (Array.isArray(value)) flags.set(option.name(), value.map(String));
  }
  return flags;
}

function checkOperands(verb: Verb, operands: readonly string[]): void {
  const { operand, name } = verb;
  if (operand === undefined) {
    if (operands.length === 0) return;
    throw usage(`'${operands[0]}' is too much`, `${name} takes options only`, verb);
  }
  if (operands.length === 0 && operand.count !== "optional") {
    throw usage(`${operandTerm(operand)} is missing`, `${name} needs it`, verb);
  }
  if (operands.length > 1 && operand.count !== "several") {
    const all = operands.map((text) => `'${text}'`).join(", ");
    throw usage(`${operands.length} arguments`, `${name} takes one, not ${all}`, verb);
  }
  for (const text of operands) checkWord(verb, text);
}

function checkWord(verb: Verb, text: string): void {
  const { operand } = verb;
  if (operand === undefined) return;
  if (text === "") {
    throw usage(`${operandTerm(operand)} is empty`, `${verb.name} needs it`, verb);
  }
  if (typeof operand.completion === "string" || operand.completion.includes(text)) return;
  const words = operand.completion.join(", ");
  throw usage(`${operand.name} '${text}' is unknown`, `it must be one of ${words}`, verb);
}

/** Commander's words in Larder's form: `error: unknown option '--nmae'\n(Did you mean --name?)`. */
function refusalOf(error: CommanderError, verb: Verb | undefined): LarderError {
  const [first = "", hint] = error.message.replace(/^error: /, "").split("\n", 2);
  const suggestion = /^\(Did you mean (?:one of )?(.*)\?\)$/.exec(hint ?? "")?.[1];
  const why = suggestion === undefined ? reasonOf(error, verb) : `did you mean ${suggestion}?`;
  return usage(first, why, verb);
}

function reasonOf(error: CommanderError, verb: Verb | undefined): string {
  switch (error.code) {
    case "commander.unknownCommand":
      return "larder has no such command";
    case "commander.unknownOption":
      return `${verb === undefined ? "larder" : `larder ${verb.name}`} has no such option`;
    case "commander.optionMissingArgument":
      return "a value must follow it";
    default:
      return "the command line cannot be read";
  }
}

function usage(what: string, why: string, verb?: Verb): LarderError {
  return new LarderError("usage", { what, why, todo: todoOf(verb) });
}

function todoOf(verb?: Verb): string {
  return verb === undefined ? "run 'larder help'" : `run 'larder help ${verb.name}'`;
}
