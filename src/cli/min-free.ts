import { parseAmount } from "../cache/amount.ts";
import type { MinFree } from "../cache/space.ts";
import { LarderError } from "../errors.ts";

/**
 * A reserve of free space: `15%`, or bytes as `parseAmount` takes them.
 *
 * @throws LarderError `usage`
 */
export function parseMinFree(text: string): MinFree {
  const percent = /^(\d{1,3}(?:\.\d{1,3})?)%$/.exec(text)?.[1];
  if (percent !== undefined && Number(percent) < 100) return { percent: Number(percent) };
  const bytes = parseAmount(text);
  if (bytes !== undefined) return { bytes };
  throw new LarderError("usage", {
    what: `'${text}' is no amount of space for --min-free`,
    why: "it must be bytes (with k, M, G, Ki, Mi or Gi) or a percentage below 100",
    todo: "write it as in 500Mi or 15%",
  });
}
