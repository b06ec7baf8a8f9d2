import { stat } from "node:fs/promises";
import { join } from "node:path";

import type { FillResult } from "../cache/store.ts";
import { printable, type LarderError } from "../errors.ts";
import { formatBytes } from "../cache/amount.ts";
import { formatDuration } from "./duration.ts";

/** What `larder import --output json` prints; null is what was not known by then. */
export interface ImportResult {
  readonly version: 1;
  readonly name: string | null;
  readonly cachePath: string | null;
  readonly source: string | null;
  readonly digest: string | null;
  readonly resolved: string | null;
  readonly platform: string | null;
  /** Whether it was complete already or has been pulled; null after an error. */
  readonly result: "complete" | "pulled" | null;
  readonly files: readonly { readonly name: string; readonly bytes: number }[];
  /** Sum of the files' sizes. */
  readonly bytes: number;
  readonly seconds: number;
  /** How often a request was tried again. */
  readonly retries: number;
  readonly warnings: readonly string[];
  readonly error?: { readonly code: string; readonly message: string };
}

/** What is known before anything was done. */
export const nothingYet: ImportResult = {
  version: 1,
  name: null,
  cachePath: null,
  source: null,
  digest: null,
  resolved: null,
  platform: null,
  result: null,
  files: [],
  bytes: 0,
  seconds: 0,
  retries: 0,
  warnings: [],
};

/** The result with an error added. */
export function failed(result: ImportResult, error: LarderError): ImportResult {
  return { ...result, error: { code: error.code, message: error.message } };
}

/** The result of a command line that could not be read. */
export function refusalOf(error: LarderError): ImportResult {
  return failed(nothingYet, error);
}

/** What a fill adds to the result. */
export async function filledPart(
  { name, cachePath }: { readonly name: string; readonly cachePath: string },
  { result, sentinel }: FillResult,
): Promise<Partial<ImportResult>> {
  const sizeOf = async (file: string): Promise<number> =>
    // An older agent recorded no sizes.
    sentinel.sizes?.get(file) ?? (await stat(join(cachePath, name, file))).size;
  const files = [];
  for (const file of sentinel.files) files.push({ name: file, bytes: await sizeOf(file) });
  return {
    digest: sentinel.digest,
    resolved: sentinel.resolved ?? null,
    platform: sentinel.platform ?? null,
    result,
    files,
    bytes: files.reduce((sum, file) => sum + file.bytes, 0),
  };
}

/** The result as one line for people. */
export function summaryOf(result: ImportResult): string {
  const { name, cachePath, files, bytes, digest, seconds } = result;
  const done =
    result.result === "pulled" ? `pulled in ${formatDuration(seconds * 1000)}` : "already complete";
  const count = files.length === 1 ? "1 file" : `${files.length} files`;
  return printable(
    `${name}: ${done}: ${count}, ${formatBytes(bytes)} in ${cachePath}/${name} (${digest})`,
  );
}
