import type { LarderError } from "../errors.ts";
import type { Completion, Given, OptionSpec } from "./option.ts";
import { settle, type Origin } from "./settle.ts";
import type { Shell } from "./shell.ts";

/** What a verb takes besides options. */
export interface Operand {
  /** Stands for it in the help: `source`. */
  readonly name: string;
  readonly about: string;
  readonly completion: Completion;
  /** How many: exactly one, at most one, or at least one. */
  readonly count: "one" | "optional" | "several";
}

export interface Example {
  readonly line: string;
  readonly about: string;
}

interface Described {
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  /** Paragraphs for the verb's own help. */
  readonly details: string;
  readonly operand?: Operand;
  readonly examples: readonly Example[];
  /** The JSON object of a command line that could not be read, for `--output json`. */
  readonly refusal?: (error: LarderError) => object;
}

export interface Definition<Options extends readonly OptionSpec[]> extends Described {
  readonly options: Options;
  /** Does the work; returns the exit code. */
  readonly run: (
    given: Given<Options>,
    operands: readonly string[],
    shell: Shell,
  ) => Promise<number>;
}

/** Work whose command line has been read: what is left is to do it. */
export type Task = (shell: Shell) => Promise<number>;

/** A definition whose types of options have been taken care of. */
export interface Verb extends Described {
  readonly options: readonly OptionSpec[];
  /** @throws LarderError `usage` */
  readonly bind: (origin: Origin, operands: readonly string[]) => Task;
}

/** Makes a verb of a definition, whose `run` sees its options with the types that they have. */
export function verb<const Options extends readonly OptionSpec[]>(
  definition: Definition<Options>,
): Verb {
  const { run, ...described } = definition;
  return {
    ...described,
    bind: (origin, operands) => {
      const given = settle(definition.options, origin);
      return (shell) => run(given, operands, shell);
    },
  };
}
