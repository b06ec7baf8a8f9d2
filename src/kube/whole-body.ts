import { Stall } from "../registry/silence.ts";
import type { Answer } from "./exchange.ts";

export interface Bound {
  readonly bytes: number;
  /** Milliseconds for the whole body. */
  readonly milliseconds: number;
}

/** An answer is larger than anything that an API server has reason to send. */
export class TooLarge extends Error {}

/**
 * A body that fits into memory, whole.
 *
 * @throws TooLarge, a `Stall` when its time is over, or the connection's own error
 */
export async function readWhole(answer: Answer, bound: Bound): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  let late = false;
  const deadline = setTimeout(() => {
    late = true;
    answer.discard();
  }, bound.milliseconds);
  try {
    for await (const chunk of answer.body(bound.milliseconds)) {
      length += chunk.length;
      if (length > bound.bytes) throw new TooLarge(`more than ${bound.bytes / 2 ** 20} MiB`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw late ? new Stall(bound.milliseconds) : error;
  } finally {
    clearTimeout(deadline);
  }
  return Buffer.concat(chunks, length);
}
