import { Command, Option } from "commander";

import { footnoteOf, termOf, type OptionSpec } from "./option.ts";
import type { Operand, Verb } from "./verb.ts";

/** Told which verb a command line chose, and what stood on it. */
export type Chosen = (verb: Verb, command: Command) => void;

/**
 * Commander's form of the definition. It reads nothing from the environment, prints nothing and
 * never ends the process: it throws CommanderError instead.
 */
export function programOf(verbs: readonly Verb[], chosen: Chosen = () => {}): Command {
  const program = new Command("larder")
    .usage("<command> [options]")
    .description(
      "Gets container images onto Kubernetes nodes that cannot count on a registry. " +
        "imagecachectl is another name of this command.",
    )
    .helpCommand(false);
  settleDown(program);
  for (const verb of verbs) program.addCommand(commandOf(verb, chosen));
  return program;
}

function commandOf(verb: Verb, chosen: Chosen): Command {
  const command = new Command(verb.name)
    .usage(usageOf(verb))
    .summary(verb.summary)
    .description(flow(verb.details))
    .allowExcessArguments();
  settleDown(command);
  if (verb.operand !== undefined) {
    command.argument("[operands...]", flow(verb.operand.about));
  }
  for (const spec of verb.options) {
    command.addOption(optionOf(spec));
    if (spec.kind === "switch") command.addOption(new Option(`--no-${spec.flag}`).hideHelp());
  }
  command.action(() => {
    chosen(verb, command);
  });
  return command;
}

function settleDown(command: Command): void {
  command
    .helpOption("-h, --help", "show this help")
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {} });
}

function optionOf(spec: OptionSpec): Option {
  const option = new Option(termOf(spec), `${flow(spec.about)} ${footnoteOf(spec)}`);
  if (spec.kind === "switch") return option;
  // Every value is kept, so that one that is given twice can be told.
  return option.argParser<readonly string[]>((value, before) => [...(before ?? []), value]);
}

function usageOf(verb: Verb): string {
  const required = verb.options.filter((spec) => spec.kind === "value" && spec.required);
  const parts = required.map(termOf);
  if (verb.options.length > required.length) parts.push("[options]");
  if (verb.operand !== undefined) parts.push(operandTerm(verb.operand));
  return parts.join(" ");
}

/** An operand as the help writes it: `<source>`, `[command]`, `<cache-path>...`. */
export function operandTerm(operand: Operand): string {
  if (operand.count === "optional") return `[${operand.name}]`;
  return operand.count === "several" ? `<${operand.name}>...` : `<${operand.name}>`;
}

/** Text that is broken into lines in the source, as one line to be broken anew. */
function flow(text: string): string {
  return text.replaceAll("\n", " ");
}
