import type { WriteStream } from "node:tty";

import { hasCode, LarderError } from "../errors.ts";
import type { Screen } from "./shell.ts";

/** Standard output or standard error as a Screen whose reader may go away. */
export class StandardStream implements Screen {
  readonly #stream: WriteStream;
  readonly #term: string | undefined;
  #failure: Error | undefined;

  /** @param term the variable TERM, which says whether a terminal can move its cursor */
  constructor(stream: WriteStream, term: string | undefined) {
    this.#stream = stream;
    this.#term = term;
    // Without a listener an EPIPE would end the process with a stack trace.
    stream.on("error", (error) => {
      this.#failure ??= error;
    });
  }

  write(text: string): void {
    if (this.#failure !== undefined) return;
    this.#stream.write(text, (error) => {
      if (error) this.#failure ??= error;
    });
  }

  get terminal(): boolean {
    return this.#stream.isTTY && this.#term !== undefined && this.#term !== "dumb";
  }

  get columns(): number | undefined {
    return this.#stream.isTTY ? this.#stream.columns : undefined;
  }

  get rows(): number | undefined {
    return this.#stream.isTTY ? this.#stream.rows : undefined;
  }

  /**
   * Waits until everything is written. A reader that went away is no failure.
   *
   * @throws LarderError `disk` when the result could not be written: `larder ... > /full/disk`
   */
  async flush(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#stream.write("", () => {
        resolve();
      });
    });
    const failure = this.#failure;
    if (failure === undefined) return;
    if (hasCode(failure, "EPIPE", "EIO")) return;
    throw new LarderError("disk", {
      what: "cannot write the result to standard output",
      why: failure.message,
      todo: "send it somewhere else; what was asked for is done",
      cause: failure,
    });
  }
}
