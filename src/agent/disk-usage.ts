import { statfs } from "node:fs/promises";

import type { Space } from "../cache/space.ts";
import type { Clock } from "../registry/clock.ts";

/** A disk that takes longer hangs, and whoever asked for figures waits for others, too. */
const limitMs = 1000;

/** As of `node:fs/promises`: counts of fragments, which old systems do not tell from blocks. */
export interface FileSystemFigures {
  readonly bsize: number;
  readonly frsize: number;
  readonly blocks: number;
  readonly bavail: number;
}

export interface DiskUsageOptions {
  readonly clock: Clock;
  /** Default: the system's. */
  readonly ask?: (path: string) => Promise<FileSystemFigures>;
}

/** Asks how full the disks below some paths are, and gets over one that does not answer. */
export class DiskUsage {
  readonly #clock: Clock;
  readonly #ask: (path: string) => Promise<FileSystemFigures>;
  /** Each takes one of few threads until it is answered, so there is one a path at most. */
  readonly #asking = new Map<string, Promise<Space | undefined>>();

  constructor({ clock, ask = statfs }: DiskUsageOptions) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** By path, without those that are not there or do not answer within a second. */
  async of(paths: readonly string[]): Promise<ReadonlyMap<string, Space>> {
    if (paths.length === 0) return new Map();
    const limit = new AbortController();
    const tooLong = this.#clock.sleep(limitMs, limit.signal).catch(() => undefined);
    const spaces = await Promise.all(
      paths.map(async (path) => {
        const space = await Promise.race([this.#of(path), tooLong]);
        return space === undefined ? [] : ([[path, space]] as const);
      }),
    );
    limit.abort();
    return new Map(spaces.flat());
  }

  #of(path: string): Promise<Space | undefined> {
    const before = this.#asking.get(path);
    if (before !== undefined) return before;
    const asking = this.#ask(path)
      .then(
        ({ bsize, frsize, blocks, bavail }) => {
          const unit = frsize > 0 ? frsize : bsize;
          return { free: bavail * unit, total: blocks * unit };
        },
        () => undefined,
      )
      .finally(() => this.#asking.delete(path));
    this.#asking.set(path, asking);
    return asking;
  }
}
