/** A line is longer than it may be. */
export class LineTooLong extends Error {}

const newline = 0x0a;

/**
 * Cuts a stream of bytes into lines, without their newlines and without empty ones. Bytes are put
 * together before they are decoded, so a character may come in pieces.
 */
export class LineReader {
  readonly #longest: number;
  #parts: Buffer[] = [];
  #length = 0;

  /** @param longest bytes of a line */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** @throws LineTooLong */
  *push(chunk: Buffer): Generator<string> {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(newline, from);
      if (end < 0) break;
      this.#keep(chunk.subarray(from, end));
      from = end + 1;
      const line = this.#take();
      if (line !== "") yield line;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
  }

  /** Whether the last line has begun and not ended. */
  get cut(): boolean {
    return this.#length > 0;
  }

  #keep(part: Buffer): void {
    this.#length += part.length;
    if (this.#length > this.#longest) {
      throw new LineTooLong(`a line of more than ${this.#longest / 2 ** 20} MiB`);
    }
    this.#parts.push(part);
  }

  #take(): string {
    const [first, ...others] = this.#parts;
    const whole = others.length === 0 ? first : Buffer.concat(this.#parts, this.#length);
    this.#parts = [];
    this.#length = 0;
    return whole?.toString("utf8").trim() ?? "";
  }
}
