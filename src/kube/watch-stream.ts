import type { Answer } from "./exchange.ts";
import { LineReader } from "./lines.ts";
import { parseWatchEvent, type WatchEvent } from "./watch-event.ts";

/** Bytes; the largest object is a tenth of it. */
const longestLine = 16 * 1024 * 1024;

export interface WatchStreamOptions {
  /** `watch nodes`, for errors. */
  readonly what: string;
  /** Milliseconds without a byte after which the connection counts as dead. */
  readonly silenceMs: number;
  readonly onBytes?: ((count: number) => void) | undefined;
}

/** The stream ended within a line. */
class CutLine extends Error {}

/**
 * The events of an open watch, until the server ends it.
 *
 * @throws ApiError for an ERROR event; CutLine, LineTooLong, a `Stall`, or the connection's own error
 */
export async function* watchStream(
  answer: Answer,
  { what, silenceMs, onBytes }: WatchStreamOptions,
): AsyncGenerator<WatchEvent> {
  const lines = new LineReader(longestLine);
  for await (const chunk of answer.body(silenceMs)) {
    onBytes?.(chunk.length);
    for (const line of lines.push(chunk)) yield parseWatchEvent(line, what);
  }
  if (lines.cut) throw new CutLine("it ended in the middle of an event");
}
