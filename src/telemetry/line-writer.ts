import { writeSync } from "node:fs";

import { hasCode } from "../errors.ts";

/** Of lines that wait for a slow reader; beyond it, lines are dropped. In bytes. */
const waitingBound = 1024 * 1024;
/** In milliseconds. */
const againAfter = 100;

/**
 * Writes lines to a file descriptor at once, so that the last words before a crash are there. Never
 * throws: a reader that went away takes what is left with it, and whoever has a log to write has better
 * things to do. A pipe that is full (where somebody made it non-blocking), or a disk that is, is tried
 * again while a bounded number of lines waits, and lines are only dropped whole.
 */
export class LineWriter {
  readonly #descriptor: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #dropped = 0;

  /** @param descriptor 1 for standard output */
  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** How many lines found no reader in time. */
  get dropped(): number {
    return this.#dropped;
  }

  /** @param line with its line feed */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#closed || this.#waitingBytes + bytes.length > waitingBound) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.flush();
  }

  /** Writes what waits, as far as it can be written now. */
  flush(): void {
    clearTimeout(this.#timer);
    try {
      for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
        this.#written(first, writeSync(this.#descriptor, first));
      }
    } catch (error) {
      if (hasCode(error, "EPIPE", "EBADF", "EIO")) this.#close();
      else this.#later();
    }
  }

  #written(first: Buffer, bytes: number): void {
    this.#waitingBytes -= bytes;
    if (bytes === first.length) this.#waiting.shift();
    else this.#waiting[0] = first.subarray(bytes);
  }

  #later(): void {
    this.#timer = setTimeout(() => {
      this.flush();
    }, againAfter);
    // A log that nobody reads keeps no process alive.
    this.#timer.unref();
  }

  #close(): void {
    this.#closed = true;
    this.#dropped += this.#waiting.length;
    this.#waiting = [];
    this.#waitingBytes = 0;
  }
}
