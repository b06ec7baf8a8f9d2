import type { Store } from "../cache/store.ts";
import { placeOf } from "./cache-spec.ts";
import { formatMemory, nothingKnown, parseMemory, type Memory } from "./memory.ts";

/** The agent's memory: in the process, and in the default cache path for the next one. */
export class Recollection {
  readonly #open: () => Promise<Store>;
  #memory: Memory = nothingKnown;
  #kept: string | undefined;

  /** @param open the default cache path; may throw where it is not there */
  constructor(open: () => Promise<Store>) {
    this.#open = open;
  }

  get memory(): Memory {
    return this.#memory;
  }

  /**
   * Reads what stands on the disk, and joins it to what is known where somebody else wrote it: the last
   * agent, also when the cache path is mounted only later, or whoever put another disk there.
   *
   * @throws LarderError `cache-path`, `disk`: what is known stays
   */
  async load(): Promise<void> {
    const bytes = (await this.#open()).readAgentState();
    const text = bytes?.toString("utf8");
    if (bytes !== undefined && text !== this.#kept) {
      this.#memory = joined(this.#memory, parseMemory(bytes));
    }
    this.#kept = text;
  }

  /** What is known from now on; on the disk after the next `keep`. */
  set(memory: Memory): void {
    this.#memory = memory;
  }

  /**
   * Writes it to the disk, where that holds anything else.
   *
   * @throws LarderError `cache-path`, `disk`
   */
  async keep(): Promise<void> {
    await this.load();
    const text = formatMemory(this.#memory);
    if (text === this.#kept) return;
    await (await this.#open()).writeAgentState(text);
    this.#kept = text;
  }
}

/** Both; of what the two tell differently, the first knows better. */
function joined(one: Memory, other: Memory): Memory {
  const places = new Set(one.orphans.map(placeOf));
  return {
    paths: [...new Set([...one.paths, ...other.paths])],
    desired: one.desired.length > 0 ? one.desired : other.desired,
    orphans: [...one.orphans, ...other.orphans.filter((orphan) => !places.has(placeOf(orphan)))],
  };
}
