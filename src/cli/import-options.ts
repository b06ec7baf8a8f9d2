import type { Given, OptionSpec } from "./option.ts";
import { outputOption } from "./output-option.ts";
import { registryOptions } from "./registry-options.ts";

/** The options of `larder import`. */
export const importOptions = [
  {
    kind: "value",
    flag: "name",
    placeholder: "resource",
    completion: "nothing",
    required: true,
    about: "Name of the directory to fill, as the ImageCache resource is or will be called",
  },
  {
    kind: "value",
    flag: "cache-path",
    placeholder: "dir",
    completion: "directory",
    default: "/var/lib/image-cache",
    about: "The cache path; it must exist",
  },
  {
    kind: "value",
    flag: "source",
    placeholder: "reference",
    completion: "nothing",
    otherwise: "none",
    about: "The reference that an archive stands for, so that the agent knows it as its own",
  },
  {
    kind: "switch",
    flag: "force",
    about: "Fill again what is complete already",
  },
  {
    kind: "value",
    flag: "min-free",
    placeholder: "bytes|percent",
    completion: "nothing",
    default: "0",
    about: "Space to leave free below the cache path: 500Mi, 2G, 15%",
  },
  ...registryOptions,
  {
    kind: "switch",
    flag: "quiet",
    about: "Say nothing but warnings and errors",
  },
  outputOption,
] as const satisfies readonly OptionSpec[];

export type ImportGiven = Given<typeof importOptions>;
