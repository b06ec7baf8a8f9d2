import manifest from "../../package.json" with { type: "json" };

import { outputOption } from "./output-option.ts";
import { verb } from "./verb.ts";

/** Larder's version. */
export const version: string = manifest.version;

/** What runs here: Larder and what it is made of, by name. */
export function madeOf(): Readonly<Record<string, string>> {
  const { node, zlib, zstd = "", openssl } = process.versions;
  return { larder: version, node, zlib, zstd, openssl };
}

/** `larder version`. */
export const versionVerb = verb({
  name: "version",
  summary: "print the version of Larder and of what it is made of",
  details: `Prints Larder's version, that of the Node it runs on and of the libraries inside, and the machine.`,
  options: [outputOption],
  examples: [],
  run: async (given, _operands, shell) => {
    const machine = `${process.platform}/${process.arch}`;
    const parts = madeOf();
    if (given.output === "json") {
      shell.out.write(`${JSON.stringify({ version: 1, ...parts, machine })}\n`);
      return 0;
    }
    const lines = Object.entries({ ...parts, machine }).map(([name, value]) => `${name} ${value}`);
    shell.out.write(`${lines.join("\n")}\n`);
    return 0;
  },
});
