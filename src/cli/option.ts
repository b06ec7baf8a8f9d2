/**
 * What an option is, as plain data. Parsing, help, environment variables and completion scripts
 * are all derived from it, so that none of them can say something else than the others.
 */

/** What a shell offers for a value: names of files, folders or archives, certain words, or nothing. */
export type Completion = "file" | "directory" | "archive" | "nothing" | readonly string[];

interface Described {
  /** Long name without dashes: `cache-path`. */
  readonly flag: string;
  /** One sentence for the help, without the default. */
  readonly about: string;
}

/** On or off; off unless given. */
export interface Switch extends Described {
  readonly kind: "switch";
}

/** One value. */
export interface ValueOption extends Described {
  readonly kind: "value";
  /** Stands for the value in the help: `dir`. */
  readonly placeholder: string;
  readonly completion: Completion;
  /** The words of `completion` are suggestions: others are as good. */
  readonly open?: true;
  /** Taken when nothing was given. */
  readonly default?: string;
  /** Nothing given is a usage error. */
  readonly required?: true;
  /** What nothing given amounts to, where there is no default value: `the machine's`. */
  readonly otherwise?: string;
}

/** Any number of values: the flag again for each, or a list separated by commas in the variable. */
export interface ListOption extends Described {
  readonly kind: "list";
  readonly placeholder: string;
  readonly completion: Completion;
  /** What nothing given amounts to. Default `none`. */
  readonly otherwise?: string;
}

export type OptionSpec = Switch | ValueOption | ListOption;

type ValueOf<Spec extends OptionSpec> = Spec extends Switch
  ? boolean
  : Spec extends ListOption
    ? readonly string[]
    : Spec extends { readonly required: true } | { readonly default: string }
      ? string
      : string | undefined;

/** What was given, by flag: a boolean, a text or a list, as the option's kind says. */
export type Given<Options extends readonly OptionSpec[]> = {
  readonly [Spec in Options[number] as Spec["flag"]]: ValueOf<Spec>;
};

/** The environment variable of an option: `LARDER_CACHE_PATH` for `cache-path`. */
export function variableOf(flag: string): string {
  return `LARDER_${flag.toUpperCase().replaceAll("-", "_")}`;
}

/** An option as the help writes it: `--cache-path <dir>`. */
export function termOf(spec: OptionSpec): string {
  return spec.kind === "switch" ? `--${spec.flag}` : `--${spec.flag} <${spec.placeholder}>`;
}

/** The words that a value must be one of; undefined where any will do. */
export function choicesOf(spec: OptionSpec): readonly string[] | undefined {
  if (spec.kind === "switch" || typeof spec.completion === "string") return undefined;
  return spec.kind === "value" && spec.open ? undefined : spec.completion;
}

/** What the help says after an option's sentence: its default and its variable. */
export function footnoteOf(spec: OptionSpec): string {
  return `(${defaultOf(spec)}; ${variableOf(spec.flag)})`;
}

function defaultOf(spec: OptionSpec): string {
  if (spec.kind === "switch") return "default: off";
  if (spec.kind === "list") return `repeatable; default: ${spec.otherwise ?? "none"}`;
  if (spec.required) return "required";
  return `default: ${spec.default ?? spec.otherwise ?? "none"}`;
}
