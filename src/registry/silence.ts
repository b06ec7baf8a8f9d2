/** No byte came for as long as a connection may be silent. */
export class Stall extends Error {
  readonly code = "ESTALLED";

  constructor(milliseconds: number) {
    super(`no byte came for ${milliseconds / 1000} s`);
  }
}

/** A timer for how long a connection may be silent. */
export interface Silence {
  /** Begins to count anew. */
  restart(): void;
  stop(): void;
}

/**
 * Calls back once nothing came for so long. Where this process itself stood still (a busy machine, a
 * machine that slept), what came meanwhile is looked at first: it is not the network's fault.
 */
export function afterSilence(milliseconds: number, callback: (stall: Stall) => void): Silence {
  let turn = 0;
  const timer = setTimeout(() => {
    const then = turn;
    // Immediates run after sockets have been read.
    setImmediate(() => {
      if (turn === then) callback(new Stall(milliseconds));
    });
  }, milliseconds);
  return {
    restart() {
      turn += 1;
      timer.refresh();
    },
    stop() {
      turn += 1;
      clearTimeout(timer);
    },
  };
}
