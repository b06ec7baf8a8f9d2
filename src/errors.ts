/**
 * The one error class of Larder. Callers switch on `code`, never on text; docs/import.md and
 * docs/agent.md say of each code what it means and what to do, and a test keeps them in step.
 */

export const errorCodes = [
  "reference",
  "auth",
  "not-found",
  "network",
  "registry",
  "api",
  "digest",
  "platform",
  "image",
  "disk",
  "usage",
  "foreign",
  "cache-path",
  "interrupted",
  "internal",
] as const;

export type ErrorCode = (typeof errorCodes)[number];

export interface ErrorParts {
  /** What failed, naming the thing: `cannot get the manifest of registry.example.com/app:1`. */
  readonly what: string;
  /** Why, in the words of whoever refused: `the registry answered 503 Service Unavailable`. */
  readonly why: string;
  /** What the reader can do about it: `check that the registry is up, then run this again`. */
  readonly todo: string;
  readonly cause?: unknown;
  /** Whether doing the same again, unchanged, can help. Default false. */
  readonly retryable?: boolean;
}

/** An error whose message reads `<what failed>: <why>: <what to do>`, in one printable line. */
export class LarderError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;

  constructor(code: ErrorCode, parts: ErrorParts) {
    super(
      printable(`${parts.what}: ${parts.why}: ${parts.todo}`),
      parts.cause === undefined ? undefined : { cause: parts.cause },
    );
    this.name = "LarderError";
    this.code = code;
    this.retryable = parts.retryable ?? false;
  }
}

/** Too little space below a cache path; `missingBytes` is a lower bound, since layers are compressed. */
export class InsufficientDiskError extends LarderError {
  readonly missingBytes: number;

  constructor(missingBytes: number, parts: ErrorParts) {
    super("disk", parts);
    this.missingBytes = missingBytes;
  }
}

// C0, DEL and C1 controls, line and paragraph separators, and the marks that reorder text.
const unprintable =
  // oxlint-disable-next-line no-control-regex -- control characters are what this looks for
  /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Escapes what an image or a registry could use to rewrite a terminal or forge a second line. */
export function printable(text: string): string {
  return text.toWellFormed().replace(unprintable, (char) => {
    const code = char.charCodeAt(0);
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** The error for work that an AbortSignal stopped. */
export function interrupted(what: string, cause?: unknown): LarderError {
  return new LarderError("interrupted", {
    what,
    why: "it was told to stop",
    todo: "run it again to finish; nothing was left behind",
    cause,
  });
}

/** An error of Node's or the system's, told apart by its `code`: `ENOENT` and so on. */
export type SystemError = NodeJS.ErrnoException & { code: string };

export function isSystemError(error: unknown): error is SystemError {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}

/** Whether an error is the system's and has one of these codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): error is SystemError {
  return isSystemError(error) && codes.includes(error.code);
}
