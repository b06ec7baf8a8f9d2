import { LarderError, type ErrorParts } from "../errors.ts";

export interface ApiErrorParts extends ErrorParts {
  /** The HTTP status; 0 where no answer came. */
  readonly status: number;
  /** The reason of the server's Status: `AlreadyExists`, `Expired`. */
  readonly reason?: string | undefined;
  /** Milliseconds that the server asks to wait before the next try. */
  readonly retryAfterMs?: number | undefined;
}

/** A request to an API server that failed. Nothing here tries again by itself: who asks knows how. */
export class ApiError extends LarderError {
  readonly status: number;
  /** The reason of the server's Status; empty where it gave none. */
  readonly reason: string;
  readonly retryAfterMs: number | undefined;

  constructor(parts: ApiErrorParts) {
    super("api", parts);
    this.name = "ApiError";
    this.status = parts.status;
    this.reason = parts.reason ?? "";
    this.retryAfterMs = parts.retryAfterMs;
  }
}

/** Whether an API server answered with one of these statuses. */
export function hasStatus(error: unknown, ...statuses: readonly number[]): error is ApiError {
  return error instanceof ApiError && statuses.includes(error.status);
}
