import type { Screen, Shell } from "../../src/cli/shell.ts";

/** A Screen that keeps what is written to it. */
class RecordingScreen implements Screen {
  terminal = false;
  columns: number | undefined;
  rows: number | undefined;
  readonly writes: string[] = [];

  write(text: string): void {
    this.writes.push(text);
  }

  get text(): string {
    return this.writes.join("");
  }
}

/** A Shell without a process: its clock and its timers go on when a test says so. */
export class RecordingShell implements Shell {
  environment: NodeJS.ProcessEnv = {};
  readonly controller = new AbortController();
  readonly signal = this.controller.signal;
  readonly hurry = new AbortController().signal;
  readonly out = new RecordingScreen();
  readonly err = new RecordingScreen();
  readonly #timers = new Map<object, { period: number; next: number; callback: () => void }>();
  #time = 0;

  readonly now = (): number => this.#time;

  readonly every = (period: number, callback: () => void): (() => void) => {
    const key = {};
    this.#timers.set(key, { period, next: this.#time + period, callback });
    return () => {
      this.#timers.delete(key);
    };
  };

  get timers(): number {
    return this.#timers.size;
  }

  /** Lets so many milliseconds pass, with every callback at its time. */
  pass(milliseconds: number): void {
    const end = this.#time + milliseconds;
    for (;;) {
      const due = [...this.#timers.values()].filter(({ next }) => next <= end);
      const first = due.sort((a, b) => a.next - b.next)[0];
      if (first === undefined) break;
      this.#time = first.next;
      first.next += first.period;
      first.callback();
    }
    this.#time = end;
  }
}
