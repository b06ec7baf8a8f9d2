import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";

import type { ChildEvent, ChildRequest } from "./run-child.ts";

/** A run in another process; it is gone when the test is. */
export interface Child {
  /** Waits for something to happen to it; fails when it ends before. */
  readonly saw: (event: ChildEvent["event"]) => Promise<ChildEvent>;
  /** Its last words: `done` or `error`. */
  readonly outcome: () => Promise<ChildEvent>;
  /** The error that it has told of so far. */
  readonly failure: () => ChildEvent | undefined;
  /** SIGKILL, and waits until it is gone. */
  readonly kill: () => Promise<void>;
}

/** @param wrapper a command that starts the child in surroundings of its own, as in `unshare -n` */
export function startChild(
  t: TestContext,
  request: ChildRequest,
  wrapper: readonly string[] = [],
): Child {
  const script = new URL("run-child.ts", import.meta.url).pathname;
  const line = [...wrapper, process.execPath, script];
  const child = spawn(line[0] ?? "", line.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify(request));
  const events: ChildEvent[] = [];
  const closed = once(child, "close");
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (text) => {
    events.push(JSON.parse(text));
    child.emit("told");
  });
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await closed;
  };
  t.after(kill);

  const find = async (wanted: readonly ChildEvent["event"][]): Promise<ChildEvent> => {
    for (;;) {
      const found = events.find(({ event }) => wanted.includes(event));
      if (found !== undefined) return found;
      const ended = child.exitCode !== null || child.signalCode !== null;
      if (ended && child.stdout.closed) {
        throw new Error(`it ended before ${wanted.join(" or ")}: ${JSON.stringify(events)}`);
      }
      await Promise.race([once(child, "told"), closed]);
    }
  };
  return {
    saw: (event) => find([event]),
    outcome: () => find(["done", "error"]),
    failure: () => events.find(({ event }) => event === "error"),
    kill,
  };
}
