import { verb, type Verb } from "./verb.ts";

const shells = ["bash", "zsh", "fish"] as const;

/** `larder completion`: a script that teaches a shell to complete the command line. */
export function completionVerb(verbs: () => readonly Verb[]): Verb {
  return verb({
    name: "completion",
    summary: "print a completion script for bash, zsh or fish",
    details:
      "Prints a script that completes commands, options and their values, for larder and imagecachectl.",
    operand: {
      name: "shell",
      count: "one",
      completion: shells,
      about: "The shell that reads the script",
    },
    options: [],
    examples: [
      { about: "bash, this session", line: "source <(larder completion bash)" },
      {
        about: "bash, every session",
        line: "larder completion bash > /etc/bash_completion.d/larder",
      },
      {
        about: "zsh, every session",
        line: "larder completion zsh > /usr/local/share/zsh/site-functions/_larder",
      },
      {
        about: "fish, every session",
        line: "larder completion fish > /etc/fish/completions/larder.fish",
      },
      {
        about: "fish, for imagecachectl as well",
        line: "ln -s larder.fish /etc/fish/completions/imagecachectl.fish",
      },
    ],
    run: async (_given, operands, shell) => {
      const [{ bashCompletion }, { zshCompletion }, { fishCompletion }] = await Promise.all([
        import("./completion-bash.ts"),
        import("./completion-zsh.ts"),
        import("./completion-fish.ts"),
      ]);
      const script = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };
      for (const name of shells) {
        if (operands.includes(name)) shell.out.write(script[name](verbs()));
      }
      return 0;
    },
  });
}
