import { LarderError } from "../errors.ts";
import type { ErrorCode, ErrorParts } from "../errors.ts";

export interface FailureParts extends ErrorParts {
  /** Milliseconds that the server asks to wait before the next try. */
  readonly retryAfterMs?: number | undefined;
}

/** A request that failed; it keeps its parts, so that whoever retries can say what it did. */
export class Failure extends LarderError {
  readonly parts: FailureParts;

  constructor(code: ErrorCode, parts: FailureParts) {
    super(code, parts);
    this.name = "Failure";
    this.parts = parts;
  }

  /** The same failure after the last try, with a remark on why there is no further try. */
  final(remark: string): Failure {
    const { what, why, todo, retryable } = this.parts;
    return new Failure(this.code, {
      what,
      why: `${why} (${remark})`,
      todo,
      cause: this,
      // Later, not now.
      ...(retryable !== undefined && { retryable }),
    });
  }
}
