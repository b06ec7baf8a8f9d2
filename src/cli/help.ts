import { verb, type Verb } from "./verb.ts";

/** `larder help [command]`: the same text as `--help`. */
export function helpVerb(commands: readonly string[], verbs: () => readonly Verb[]): Verb {
  return verb({
    name: "help",
    summary: "explain a command: every option, its default and its variable",
    details: "Prints the help of a command, or the list of commands.",
    operand: {
      name: "command",
      count: "optional",
      completion: commands,
      about: "The command to explain",
    },
    options: [],
    examples: [],
    run: async (_given, operands, shell) => {
      const { helpText } = await import("./help-text.ts");
      shell.out.write(helpText(verbs(), operands[0], shell.out.columns));
      return 0;
    },
  });
}
