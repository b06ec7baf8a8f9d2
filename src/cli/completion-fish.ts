import { archiveEndings } from "./source.ts";
import type { Completion, OptionSpec } from "./option.ts";
import { programs } from "./programs.ts";
import type { Verb } from "./verb.ts";

const [program, ...aliases] = programs;

const endings = archiveEndings.map((ending) => ending.replaceAll(".", "\\.")).join("|");

/** A script for fish 3 and newer. */
export function fishCompletion(verbs: readonly Verb[]): string {
  const lines = [
    `# fish completion for ${programs.join(" and ")}: larder completion fish | source`,
    "function __larder_verb",
    "    set -l words (commandline -opc)",
    '    test "$words[2]" = "$argv[1]"',
    "end",
    "function __larder_archives",
    "    # What fish offers for a command it knows nothing about is every file.",
    '    set -l all (complete -C "__larder_any_file "(commandline -ct))',
    `    string match -r -- '^.*(?:/|${endings})$' $all`,
    "end",
    `complete -c ${program} -f`,
    ...aliases.map((alias) => `complete -c ${alias} -w ${program}`),
    `complete -c ${program} -n '__larder_verb ""' -l help -s h -d 'show the help'`,
    `complete -c ${program} -n '__larder_verb ""' -l version -s V -d 'show the version'`,
    ...verbs.flatMap(linesOf),
  ];
  return `${lines.join("\n")}\n`;
}

function linesOf(verb: Verb): readonly string[] {
  const within = `complete -c ${program} -n '__larder_verb ${verb.name}'`;
  const lines = [
    `complete -c ${program} -n '__larder_verb ""' -a ${verb.name} -d ${quoted(verb.summary)}`,
    ...verb.options.map((spec) => `${within} ${optionArguments(spec)}`),
    `${within} -l help -s h -d 'show this help'`,
  ];
  if (verb.operand !== undefined && verb.operand.completion !== "nothing") {
    lines.push(`${within} ${offer(verb.operand.completion)}`);
  }
  return lines;
}

function optionArguments(spec: OptionSpec): string {
  const named = `-l ${spec.flag} -d ${quoted(spec.about)}`;
  return spec.kind === "switch" ? named : `${named} -r ${offer(spec.completion)}`;
}

function offer(completion: Completion): string {
  switch (completion) {
    case "file":
      return "-F";
    case "directory":
      return "-f -a '(__fish_complete_directories)'";
    case "archive":
      return "-f -a '(__larder_archives)'";
    case "nothing":
      return "-f";
    default:
      return `-f -a ${quoted(completion.join(" "))}`;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("\n", " ").replaceAll(/[\\']/g, "\\$&")}'`;
}
