import type { IncomingMessage } from "node:http";

import { afterSilence } from "./silence.ts";

/** Bytes read ahead of a slow reader, so that the network and the disk work at the same time. */
const readAhead = 1024 * 1024;

/**
 * The body of an answer, read once. Chunks are handed on as the socket delivered them, neither copied
 * nor joined. The time that the reader takes between two chunks is no stall.
 * @param explain turns the connection's own error, or a `Stall`, into the one to throw; every byte
 * that came before it is handed on first
 */
export async function* readBody(
  incoming: IncomingMessage,
  stallMs: number,
  explain: (error: Error) => Error,
): AsyncGenerator<Buffer> {
  const chunks: Buffer[] = [];
  let buffered = 0;
  let ended = false;
  let failure: Error | undefined;
  let wake: (() => void) | undefined;
  const stop = (error?: Error): void => {
    failure ??= error;
    wake?.();
  };
  const silence = afterSilence(stallMs, (stall) => {
    if (wake === undefined) return;
    stop(stall);
    incoming.destroy();
  });
  incoming.on("error", stop);
  incoming.on("end", () => {
    ended = true;
    wake?.();
  });
  incoming.on("close", () => {
    if (!ended) stop(new Error("the connection was closed"));
  });
  incoming.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    buffered += chunk.length;
    if (buffered >= readAhead) incoming.pause();
    wake?.();
  });
  // Destroyed before anybody listened: its events have been.
  if (incoming.destroyed && !incoming.readableEnded) {
    failure = incoming.errored ?? new Error("the connection was closed");
  }
  try {
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) {
        buffered -= chunk.length;
        if (buffered < readAhead / 2 && incoming.isPaused()) incoming.resume();
        yield chunk;
      } else if (failure !== undefined) throw explain(failure);
      else if (ended) return;
      else {
        silence.restart();
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = undefined;
      }
    }
  } finally {
    silence.stop();
    if (!ended) incoming.destroy();
  }
}
