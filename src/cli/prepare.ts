import { verb } from "./verb.ts";

/** `larder prepare`: hand cache paths to the agent's user. */
export const prepareVerb = verb({
  name: "prepare",
  summary: "hand a cache path to the agent's user",
  details: `The DaemonSet's init step, run as root. Gives each cache path, the directories in it that have a
sentinel, and Larder's own leftovers to a user and a group. Creates nothing; flat files and
directories that are not Larder's keep their owner.`,
  operand: {
    name: "cache-path",
    count: "several",
    completion: "directory",
    about: "The cache paths to hand over",
  },
  options: [
    {
      kind: "value",
      flag: "uid",
      placeholder: "number",
      completion: "nothing",
      required: true,
      about: "The user to give them to",
    },
    {
      kind: "value",
      flag: "gid",
      placeholder: "number",
      completion: "nothing",
      otherwise: "the number given as --uid",
      about: "The group to give them to",
    },
  ],
  examples: [
    {
      about: "What the DaemonSet does before the agent starts",
      line: "larder prepare --uid 65532 /var/lib/image-cache",
    },
  ],
  run: async (given, operands, shell) => {
    const { prepareAll } = await import("./prepare-action.ts");
    return prepareAll(given, operands, shell);
  },
});
