import type { Notice } from "../registry/image.ts";
import { formatDuration } from "./duration.ts";
import type { Reporter } from "./reporter.ts";

/** Counts what a source tells while it works, and passes it on to people. */
export class NoticeTally {
  readonly #reporter: Reporter;
  readonly #warnings: string[] = [];
  #retries = 0;

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
  }

  get retries(): number {
    return this.#retries;
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** A property, since it is passed around as a function. */
  readonly notify = (notice: Notice): void => {
    if (notice.kind === "warning") {
      this.#warnings.push(notice.message);
      this.#reporter.warn(notice.message);
      return;
    }
    this.#retries += 1;
    const delay = formatDuration(notice.delayMs);
    this.#reporter.note(`${notice.what}: ${notice.why}: trying again in ${delay}`);
  };
}
