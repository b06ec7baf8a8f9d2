const firstLength = 1024;

/**
 * A list of numbers that only grows. It takes 8 bytes for each and no object, and what it grows out of
 * is freed at once: of arrays of numbers the collector would keep every length they ever had.
 */
export class Numbers {
  #values = new Float64Array(firstLength);
  length = 0;

  push(value: number): void {
    if (this.length === this.#values.length) {
      const { buffer, byteLength } = this.#values;
      this.#values = new Float64Array(buffer.transfer(2 * byteLength));
    }
    this.#values[this.length++] = value;
  }

  /** @param index of a number that is in the list */
  get(index: number): number {
    return this.#values[index] ?? 0;
  }

  set(index: number, value: number): void {
    this.#values[index] = value;
  }

  /** Keeps the larger one of the number that is there and another. */
  raise(index: number, value: number): void {
    if (value > this.get(index)) this.set(index, value);
  }
}
