import { agentVerb } from "./agent.ts";
import { completionVerb } from "./completion.ts";
import { helpVerb } from "./help.ts";
import { importVerb } from "./import.ts";
import { prepareVerb } from "./prepare.ts";
import type { Verb } from "./verb.ts";
import { verifyVerb } from "./verify.ts";
import { versionVerb } from "./version.ts";

const explained: readonly Verb[] = [
  importVerb,
  verifyVerb,
  prepareVerb,
  agentVerb,
  completionVerb(() => verbs),
  versionVerb,
];

/** Every command of `larder`, in the order of the help: the one definition of the command line. */
export const verbs: readonly Verb[] = [
  ...explained,
  helpVerb([...explained.map((verb) => verb.name), "help"], () => verbs),
];
