import type { Socket } from "node:net";

/** One direction of a connection: what is read is written later, in order, the end too. */
export class DelayedFlow {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #delayMs: () => number;
  /** What waits; without bytes: the end. */
  readonly #waiting: { readonly due: number; readonly bytes?: Buffer }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #swallowing = false;

  /** @param delayMs asked for each piece that arrives */
  constructor(from: Socket, to: Socket, delayMs: () => number) {
    this.#from = from;
    this.#to = to;
    this.#delayMs = delayMs;
    from.on("data", (bytes: Buffer) => this.#push(bytes));
    from.once("end", () => this.#push());
    to.on("drain", () => from.resume());
    to.once("close", () => clearTimeout(this.#timer));
  }

  /** Reads on, so that the sender notices nothing, and writes nothing any more. */
  swallow(): void {
    this.#swallowing = true;
    this.#waiting.length = 0;
    clearTimeout(this.#timer);
    this.#from.resume();
  }

  #push(bytes?: Buffer): void {
    if (this.#swallowing) return;
    // Never before what is ahead of it, also when the delay has become shorter.
    const due = Math.max(performance.now() + this.#delayMs(), this.#waiting.at(-1)?.due ?? 0);
    this.#waiting.push(bytes === undefined ? { due } : { due, bytes });
    if (this.#waiting.length === 1) this.#pass();
  }

  #pass(): void {
    let next = this.#waiting[0];
    while (next !== undefined && next.due <= performance.now()) {
      this.#waiting.shift();
      this.#write(next.bytes);
      next = this.#waiting[0];
    }
    if (next === undefined) return;
    const milliseconds = Math.ceil(next.due - performance.now());
    this.#timer = setTimeout(() => this.#pass(), Math.max(milliseconds, 1));
  }

  #write(bytes: Buffer | undefined): void {
    if (this.#to.destroyed) return;
    if (bytes === undefined) this.#to.end();
    else if (!this.#to.write(bytes)) this.#from.pause();
  }
}
