import { fork, type ChildProcess } from "node:child_process";
import { join } from "node:path";

import { isLoadState, type LoadState, type NodeSeat, type ToLoad } from "./scale-messages.ts";

const program = join(import.meta.dirname, "scale-load.ts");

/** The load processes, and what they said last. */
export class ScaleFleet implements Disposable {
  readonly #children: readonly ChildProcess[];
  readonly #states = new Map<ChildProcess, LoadState>();
  /** Why no figure can be had any more. */
  #ended: string | undefined;
  /** Reports of each until what it says is news again. */
  readonly #owed = new Map<ChildProcess, number>();
  /** Milliseconds by which one of them was late at the worst, since it was asked last. */
  #lagMs = 0;

  constructor(processes: number) {
    this.#children = Array.from({ length: processes }, () => {
      const child = fork(program, { execArgv: ["--no-warnings", "--max-semi-space-size=16"] });
      child.once("exit", (code, signal) => {
        this.#ended = `a load process ended: ${signal ?? `exit code ${code}`}`;
      });
      // What is told to one that has just ended; `exit` says why.
      child.on("error", (error) => {
        this.#ended ??= error.message;
      });
      child.on("message", (message) => {
        if (!isLoadState(message)) return;
        this.#states.set(child, message);
        this.#owed.set(child, (this.#owed.get(child) ?? 0) - 1);
        this.#lagMs = Math.max(this.#lagMs, message.lagMs);
      });
      return child;
    });
  }

  /** Dealt out among the processes. */
  begin(seats: readonly NodeSeat[], ca: string, pullMs: number, perSecond: number): void {
    const count = this.#children.length;
    for (const [at, child] of this.#children.entries()) {
      const own = seats.filter((_, index) => index % count === at);
      const requestsPerSecond = perSecond / count;
      tell(child, { kind: "begin", ca, seats: own, requestsPerSecond, pullMs });
    }
  }

  spread(ms: number): void {
    for (const child of this.#children) tell(child, { kind: "spread", ms });
  }

  /**
   * Believes none of them until it has reported twice: who has to see thousands of connections go says
   * for seconds that all are there.
   */
  doubt(): void {
    for (const child of this.#children) this.#owed.set(child, 2);
  }

  get live(): number {
    if ([...this.#owed.values()].some((owed) => owed > 0)) return 0;
    return this.#sum(({ live }) => live);
  }

  get lost(): number {
    return this.#sum(({ lost }) => lost);
  }

  synced(name: string): number {
    return this.#sum(({ synced }) => synced[name] ?? 0);
  }

  takeLagMs(): number {
    const lagMs = this.#lagMs;
    this.#lagMs = 0;
    return lagMs;
  }

  get pids(): readonly number[] {
    return this.#children.flatMap(({ pid }) => pid ?? []);
  }

  [Symbol.dispose](): void {
    for (const child of this.#children) child.kill("SIGKILL");
  }

  #sum(of: (state: LoadState) => number): number {
    if (this.#ended !== undefined) throw new Error(this.#ended);
    return [...this.#states.values()].reduce((sum, state) => sum + of(state), 0);
  }
}

function tell(child: ChildProcess, message: ToLoad): void {
  child.send(message);
}
