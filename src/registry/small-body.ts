import { Failure } from "./failure.ts";
import type { Response } from "./transport.ts";

export interface Bound {
  readonly bytes: number;
  /** Milliseconds for the whole body. */
  readonly milliseconds: number;
}

/**
 * A body that fits into memory, whole; undefined when it is larger than allowed.
 * @param what what was asked for, for the error
 * @throws Failure `network` when it does not come to its end in time, or what the connection throws
 */
export async function readSmall(
  response: Response,
  bound: Bound,
  what: string,
): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  let late = false;
  const deadline = setTimeout(() => {
    late = true;
    response.discard();
  }, bound.milliseconds);
  try {
    for await (const chunk of response.body) {
      length += chunk.length;
      if (length > bound.bytes) return undefined;
      chunks.push(chunk);
    }
  } catch (error) {
    if (late) throw tooSlow(what, bound, error);
    throw error;
  } finally {
    clearTimeout(deadline);
  }
  return Buffer.concat(chunks, length);
}

function tooSlow(what: string, bound: Bound, cause: unknown): Failure {
  return new Failure("network", {
    what: `cannot get ${what}`,
    why: `it did not arrive whole within ${bound.milliseconds / 1000} s`,
    todo: "check the network between this machine and the registry, then run this again",
    cause,
    retryable: true,
  });
}

const drainBytes = 64 * 1024;
const drainMilliseconds = 1_000;

/** Reads away a body that nobody wants where it is short, since its connection can then serve again. */
export async function drain(response: Response): Promise<void> {
  const deadline = setTimeout(() => response.discard(), drainMilliseconds);
  let length = 0;
  try {
    for await (const chunk of response.body) {
      length += chunk.length;
      if (length > drainBytes) break;
    }
  } catch {
    // Nobody wanted it.
  } finally {
    clearTimeout(deadline);
  }
}
