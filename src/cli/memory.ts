import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Tunes the garbage collector for work whose memory is buffers, not objects: V8 counts buffers when
 * it decides to mark the old generation, and does so over and over, in threads that inflating needs,
 * though next to nothing is in there. docs/performance.md has the figures. Call it once everything is
 * loaded: as a flag of the process it would make V8 compile Node's own modules anew.
 */
export function tuneMemory(): void {
  setFlagsFromString("--no-incremental-marking");
  // Where all cores are busy, the thread that frees blocks gets its turn late, and they pile up.
  setFlagsFromString("--no-concurrent-array-buffer-sweeping");
}

/**
 * Gives back what a start or a pull has left behind: garbage, and the code of functions that ran once.
 * V8 leaves it where it is as long as nothing happens, and an agent at rest is a process in which
 * nothing happens. Takes 20 to 50 ms, and functions that are called again are compiled again.
 */
export function giveBackMemory(): void {
  setFlagsFromString("--expose-gc");
  // Only a context that is made after that has it.
  const collect: unknown = runInNewContext("globalThis.gc");
  setFlagsFromString("--no-expose-gc");
  if (typeof collect === "function") {
    Reflect.apply(collect, undefined, [{ type: "major", flavor: "last-resort" }]);
  }
}
