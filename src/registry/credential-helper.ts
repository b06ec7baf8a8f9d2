import { hasCode, interrupted, isSystemError, LarderError } from "../errors.ts";
import type { Credential } from "./docker-config.ts";
import { parseObject, text } from "./json.ts";
import { runBounded, type ProgramResult } from "./program.ts";

export interface HelperOptions {
  readonly environment: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  /** Milliseconds until it counts as hung; default 30,000. */
  readonly timeoutMs?: number;
}

export type HelperAnswer =
  | { readonly kind: "found"; readonly credential: Credential }
  | { readonly kind: "none" }
  | { readonly kind: "not-installed" };

const largestAnswerBytes = 64 * 1024;

/**
 * Runs `docker-credential-<name> get`, as docker does: the server goes to its standard input, never
 * among its arguments; a JSON object comes back. What it prints may be the secret itself, on success
 * as on failure, so none of it is ever repeated.
 *
 * @throws LarderError `auth` when it fails, hangs or answers something else; `interrupted`
 */
export async function askHelper(
  name: string,
  server: string,
  options: HelperOptions,
): Promise<HelperAnswer> {
  const { environment, signal, timeoutMs = 30_000 } = options;
  const program = `docker-credential-${name}`;
  let result: ProgramResult;
  try {
    result = await runBounded(program, ["get"], {
      input: server,
      environment,
      signal,
      timeoutMs,
      largestOutputBytes: largestAnswerBytes,
    });
  } catch (error) {
    if (hasCode(error, "ENOENT")) return { kind: "not-installed" };
    const code = isSystemError(error) ? error.code : "an unknown error";
    throw failure(program, server, `it could not be started (${code})`, error);
  }
  if (result.kind === "exit") {
    return readAnswer(program, server, result.code, result.output);
  }
  if (result.kind === "aborted") {
    throw interrupted(`asking ${program} for the credentials of ${server}`, signal.reason);
  }
  const why = {
    timeout: `it did not answer within ${timeoutMs / 1000} s`,
    "too-much-output": "it answered with more than 64 KiB",
    signal: "it was killed",
  };
  throw failure(program, server, why[result.kind]);
}

function readAnswer(program: string, server: string, code: number, output: Buffer): HelperAnswer {
  if (code !== 0) {
    if (/credentials not found/i.test(output.toString())) return { kind: "none" };
    throw failure(program, server, `it ended with exit code ${code}`);
  }
  const answer = parseObject(output);
  const secret = answer && text(answer, "Secret");
  const username = answer && text(answer, "Username");
  if (secret === undefined || username === undefined) {
    throw failure(program, server, "its answer is not a JSON object with Username and Secret");
  }
  // By docker's convention this user name says that the secret is an identity token.
  if (username === "<token>") {
    return { kind: "found", credential: { kind: "identity-token", token: secret } };
  }
  return { kind: "found", credential: { kind: "basic", username, password: secret } };
}

function failure(program: string, server: string, why: string, cause?: unknown): LarderError {
  return new LarderError("auth", {
    what: `the credential helper ${program} gave no credentials for ${server}`,
    why,
    todo: `run 'echo ${server} | ${program} get' as the same user to see what it says, or take it out of the registry configuration`,
    cause,
  });
}
