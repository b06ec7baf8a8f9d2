/** Where text goes. A reader that went away (`| head`) is not an error: what is left is dropped. */
export interface Output {
  write(text: string): void;
}

/** Standard output or standard error: perhaps a terminal, whose size changes as it is used. */
export interface Screen extends Output {
  readonly terminal: boolean;
  /** In cells; undefined where it is not known. */
  readonly columns: number | undefined;
  readonly rows: number | undefined;
}

/** What a verb may touch of the process that runs it. */
export interface Shell {
  readonly environment: NodeJS.ProcessEnv;
  /** Aborts at SIGINT, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  /** Aborts a while after `signal`: what is not cleaned up by then is to be left to the next run. */
  readonly hurry: AbortSignal;
  readonly out: Screen;
  readonly err: Screen;
  /** Milliseconds from any fixed point, never going back. */
  readonly now: () => number;
  /** Calls back again and again; returns how to stop that. */
  readonly every: (milliseconds: number, callback: () => void) => () => void;
}
