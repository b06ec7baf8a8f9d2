import { LarderError } from "../errors.ts";

/** Milliseconds. */
const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3, // U+00B5, the micro sign
  μs: 1e-3, // U+03BC, the Greek letter
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** A hundred years: beyond is a slip of the keyboard. */
const longest = 100 * 365 * 24 * 3_600_000;

const part = /(\d+(?:\.\d*)?|\.\d+)([A-Za-zµμ]*)/uy;

/**
 * Milliseconds of a duration as Go and so Kubernetes writes them: `10m`, `1h30m`, `1.5h`, `500ms`, `0`.
 *
 * @param option whose value it is, for the error: `--gc-delay`
 * @throws LarderError `usage`
 */
export function parseDuration(text: string, option: string): number {
  const refuse = (why: string): LarderError =>
    new LarderError("usage", {
      what: `${JSON.stringify(shorten(text))} is no duration for ${option}`,
      why,
      todo: "write it as in 500ms, 30s, 10m, 1h30m or 24h, or 0",
    });
  if (text === "") throw refuse("it is empty");
  if (text.startsWith("-")) throw refuse("it is negative");
  if (text === "0") return 0;
  let total = 0;
  for (const { number, unit } of partsOf(text, refuse)) {
    const factor = Object.hasOwn(units, unit) ? units[unit] : undefined;
    if (factor === undefined) throw refuse(unitProblem(number, unit));
    total += Number(number) * factor;
  }
  if (total > longest) throw refuse("it is longer than a hundred years");
  return total;
}

function partsOf(
  text: string,
  refuse: (why: string) => LarderError,
): readonly { readonly number: string; readonly unit: string }[] {
  const parts = [];
  let at = 0;
  while (at < text.length) {
    part.lastIndex = at;
    const [whole, number, unit] = part.exec(text) ?? [];
    if (whole === undefined || number === undefined || unit === undefined) {
      throw refuse(`a number was expected at ${JSON.stringify(shorten(text.slice(at)))}`);
    }
    parts.push({ number, unit });
    at += whole.length;
  }
  return parts;
}

function unitProblem(number: string, unit: string): string {
  if (unit === "") return `the number ${shorten(number)} has no unit`;
  const days = unit === "d" ? "; a day is 24h" : "";
  return `${JSON.stringify(shorten(unit))} is none of the units ms, s, m and h${days}`;
}

function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}...` : text;
}
