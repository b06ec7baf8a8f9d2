import { outputOption } from "./output-option.ts";
import { refusalOf } from "./verify-result.ts";
import { verb } from "./verb.ts";

/** `larder verify`: check a cache path against its sentinels. */
export const verifyVerb = verb({
  name: "verify",
  summary: "check a cache directory against its sentinels",
  details: `Compares what each directory holds with what its sentinel says: every file there, regular and of
its size; with --deep, every byte too. Reads only. Exits 1 when anything is not complete.
A directory that is not Larder's is listed as foreign and fails the check only where --name
asks for it.`,
  options: [
    {
      kind: "value",
      flag: "cache-path",
      placeholder: "dir",
      completion: "directory",
      default: "/var/lib/image-cache",
      about: "The cache path",
    },
    {
      kind: "value",
      flag: "name",
      placeholder: "resource",
      completion: "nothing",
      otherwise: "all of the cache path",
      about: "The one directory to check",
    },
    {
      kind: "switch",
      flag: "deep",
      about: "Read every file and compare its checksum",
    },
    outputOption,
  ],
  examples: [
    { about: "Everything, quickly", line: "larder verify" },
    { about: "One directory, byte for byte", line: "larder verify --name worker-134-0-0 --deep" },
  ],
  refusal: refusalOf,
  run: async (given, _operands, shell) => {
    const { verify } = await import("./verify-action.ts");
    return verify(given, shell);
  },
});
