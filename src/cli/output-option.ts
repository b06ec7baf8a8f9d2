import type { OptionSpec } from "./option.ts";

/** For people or for scripts; every verb that has a result takes this. */
export const outputOption = {
  kind: "value",
  flag: "output",
  placeholder: "form",
  completion: ["text", "json"],
  default: "text",
  about: "Form of the result on standard output",
} as const satisfies OptionSpec;
