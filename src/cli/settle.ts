import { LarderError } from "../errors.ts";
import { choicesOf, termOf, variableOf, type Given, type OptionSpec } from "./option.ts";

/** What the command line held, by flag: a switch's state, or every value in order. */
export type Flags = ReadonlyMap<string, boolean | readonly string[]>;

/** Where options come from, and who to point to when one is wrong. */
export interface Origin {
  readonly flags: Flags;
  readonly environment: NodeJS.ProcessEnv;
  /** `run 'larder help import'`: the remedy of every usage error. */
  readonly todo: string;
}

/**
 * Settles every option of a verb once: the flag, else the variable, else the default.
 *
 * @throws LarderError `usage` for a required option that is missing, a value given twice, a word
 *   that is none of the choices, a switch's variable that is neither on nor off
 */
export function settle<const Options extends readonly OptionSpec[]>(
  options: Options,
  origin: Origin,
): Given<Options> {
  const entries = options.map((spec) => [spec.flag, settleOne(spec, origin)] as const);
  // Each flag got a value of the kind that its spec asks for; the compiler cannot follow that
  // through fromEntries.
  return Object.fromEntries(entries) as Given<Options>;
}

function settleOne(
  spec: OptionSpec,
  origin: Origin,
): boolean | string | readonly string[] | undefined {
  if (spec.kind === "switch") return settleSwitch(spec.flag, origin);
  return spec.kind === "value" ? settleValue(spec, origin) : settleList(spec, origin);
}

function settleSwitch(flag: string, origin: Origin): boolean {
  const given = origin.flags.get(flag);
  if (typeof given === "boolean") return given;
  const name = variableOf(flag);
  const text = origin.environment[name]?.trim().toLowerCase() ?? "";
  if (["", "0", "false", "no", "off"].includes(text)) return false;
  if (["1", "true", "yes", "on"].includes(text)) return true;
  throw usage(`${name} is '${text}'`, "it must be true or false", origin);
}

function settleValue(spec: OptionSpec & { kind: "value" }, origin: Origin): string | undefined {
  const flag = `--${spec.flag}`;
  const values = valuesOf(spec.flag, origin);
  if (values.length > 1) {
    const all = values.map((value) => `'${value}'`).join(" and ");
    throw usage(`${flag} is given ${values.length} times`, `${all} cannot both hold`, origin);
  }
  const [value] = values;
  if (value !== undefined) return checked(spec, value, flag, origin);

  const name = variableOf(spec.flag);
  const variable = origin.environment[name];
  if (variable !== undefined && variable !== "") return checked(spec, variable, name, origin);

  if (spec.required) {
    throw new LarderError("usage", {
      what: `${termOf(spec)} is missing`,
      why: "it is required",
      todo: `give it or set ${name}: ${origin.todo}`,
    });
  }
  return spec.default;
}

function settleList(spec: OptionSpec & { kind: "list" }, origin: Origin): readonly string[] {
  const values = valuesOf(spec.flag, origin);
  if (values.length > 0)
    return values.map((value) => checked(spec, value, `--${spec.flag}`, origin));
  const name = variableOf(spec.flag);
  const items = (origin.environment[name] ?? "").split(",").map((item) => item.trim());
  return items.filter((item) => item !== "").map((item) => checked(spec, item, name, origin));
}

function valuesOf(flag: string, origin: Origin): readonly string[] {
  const given = origin.flags.get(flag);
  return typeof given === "object" ? given : [];
}

function checked(spec: OptionSpec, value: string, from: string, origin: Origin): string {
  if (value === "") throw usage(`${from} is empty`, "a value must follow it", origin);
  // No value looks like this; its own value was forgotten, and the next option taken for it.
  if (/^--[a-z]/.test(value)) {
    throw usage(`${from} has no value`, `'${value}' follows it`, origin);
  }
  const choices = choicesOf(spec);
  if (choices !== undefined && !choices.includes(value)) {
    throw usage(`${from} is '${value}'`, `it must be one of ${choices.join(", ")}`, origin);
  }
  return value;
}

function usage(what: string, why: string, origin: Origin): LarderError {
  return new LarderError("usage", { what, why, todo: origin.todo });
}
