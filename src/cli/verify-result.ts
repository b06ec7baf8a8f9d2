import type { LarderError } from "../errors.ts";
import type { Verdict } from "../cache/verdict.ts";

/** What `larder verify --output json` prints. */
export interface VerifyResult {
  readonly version: 1;
  readonly cachePath: string | null;
  readonly deep: boolean;
  readonly resources: readonly Verdict[];
  /** Whether the exit code is 0. */
  readonly ok: boolean;
  readonly error?: { readonly code: string; readonly message: string };
}

/** The result of a command line that could not be read. */
export function refusalOf(error: LarderError): VerifyResult {
  return failed({ cachePath: null, deep: false }, error);
}

/** The result of a check that broke off. */
export function failed(
  asked: { readonly cachePath: string | null; readonly deep: boolean },
  error: LarderError,
): VerifyResult {
  const { code, message } = error;
  return { version: 1, ...asked, resources: [], ok: false, error: { code, message } };
}

/**
 * The result of a check. What is foreign is not Larder's to judge: it fails the check only where it
 * was asked for by name.
 */
export function verifyResult(
  asked: { readonly cachePath: string; readonly deep: boolean; readonly name: string | undefined },
  resources: readonly Verdict[],
): VerifyResult {
  const { cachePath, deep, name } = asked;
  const passes = ({ state }: Verdict): boolean =>
    state === "complete" || (state === "foreign" && name === undefined);
  return { version: 1, cachePath, deep, resources, ok: resources.every(passes) };
}
