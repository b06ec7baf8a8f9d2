import { setFlagsFromString } from "node:v8";

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
