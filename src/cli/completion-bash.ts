import { archiveEndings } from "./source.ts";
import type { Completion, OptionSpec } from "./option.ts";
import { programs } from "./programs.ts";
import type { Verb } from "./verb.ts";

/** A script for bash 4 and newer; needs nothing of the bash-completion package. */
export function bashCompletion(verbs: readonly Verb[]): string {
  return `# bash completion for ${programs.join(" and ")}: source <(larder completion bash)

_larder_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }

_larder_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$@" -- "$cur")
}

_larder_archives() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(
    compgen -d -- "$cur"
${archiveEndings.map((ending) => `    compgen -f -X '!*${ending}' -- "$cur"`).join("\n")}
  )
}

_larder() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  if ((COMP_CWORD < 2)); then
    _larder_words '${[...verbs.map((verb) => verb.name), "--help", "--version"].join(" ")}'
    return
  fi
  # To bash, an equals sign is a word of its own: --output = json
  if [[ $cur == "=" ]]; then
    cur=
  elif [[ $prev == "=" ]]; then
    prev=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case \${COMP_WORDS[1]} in
${verbs.map(caseOf).join("\n")}
  esac
}

complete -F _larder ${programs.join(" ")}
`;
}

function caseOf(verb: Verb): string {
  const values = verb.options.filter((spec) => spec.kind !== "switch").map(valueCase);
  const flags = [...verb.options.map((spec) => `--${spec.flag}`), "--help"].join(" ");
  const operand = verb.operand === undefined ? ":" : offer(verb.operand.completion);
  return `    ${verb.name})
      case $prev in
${[...values, `        *) if [[ $cur == -* ]]; then _larder_words '${flags}'; else ${operand}; fi ;;`].join("\n")}
      esac
      ;;`;
}

function valueCase(spec: Exclude<OptionSpec, { kind: "switch" }>): string {
  return `        --${spec.flag}) ${offer(spec.completion)} ;;`;
}

function offer(completion: Completion): string {
  switch (completion) {
    case "file":
      return "_larder_files -f";
    case "directory":
      return "_larder_files -d";
    case "archive":
      return "_larder_archives";
    case "nothing":
      return ":";
    default:
      return `_larder_words '${completion.join(" ")}'`;
  }
}
