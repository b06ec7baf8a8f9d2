import { archiveEndings } from "./source.ts";
import type { Completion, OptionSpec } from "./option.ts";
import { programs } from "./programs.ts";
import type { Operand, Verb } from "./verb.ts";

/** A script for zsh, to be sourced after `compinit` or to lie in the function path as `_larder`. */
export function zshCompletion(verbs: readonly Verb[]): string {
  return `#compdef ${programs.join(" ")}
# zsh completion for ${programs.join(" and ")}: source <(larder completion zsh)

_larder() {
  local -a commands=(
${verbs.map((verb) => `    ${quoted(`${verb.name}:${verb.summary}`)}`).join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe -t commands command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${verbs.map(caseOf).join("\n")}
  esac
}

if [[ $funcstack[1] == _larder ]]; then
  _larder "$@"
else
  compdef _larder ${programs.join(" ")}
fi
`;
}

function caseOf(verb: Verb): string {
  const specs = verb.options.map(optionSpec);
  specs.push("'(- *)'{-h,--help}'[show this help]'");
  if (verb.operand !== undefined) specs.push(operandSpec(verb.operand));
  return `    ${verb.name})
      _arguments \\
        ${specs.join(" \\\n        ")}
      ;;`;
}

function optionSpec(spec: OptionSpec): string {
  const about = escaped(spec.about);
  if (spec.kind === "switch") return quoted(`--${spec.flag}[${about}]`);
  const again = spec.kind === "list" ? "*" : "";
  const value = `${escaped(spec.placeholder)}:${offer(spec.completion)}`;
  return quoted(`${again}--${spec.flag}=[${about}]:${value}`);
}

function operandSpec(operand: Operand): string {
  const again = operand.count === "several" ? "*" : "";
  return quoted(`${again}:${escaped(operand.name)}:${offer(operand.completion)}`);
}

function offer(completion: Completion): string {
  switch (completion) {
    case "file":
      return "_files";
    case "directory":
      return "_files -/";
    case "archive":
      return `_files -g "*(${archiveEndings.join("|")})"`;
    case "nothing":
      return " ";
    default:
      return `(${completion.join(" ")})`;
  }
}

/** For a description within `_arguments`, where colons and brackets have a meaning. */
function escaped(text: string): string {
  return text.replaceAll("\n", " ").replaceAll(/[\\:[\]]/g, "\\$&");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
