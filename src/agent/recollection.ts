import type { Store } from "../cache/store.ts";
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

  /** @throws LarderError `cache-path`, `disk`: nothing is known then */
  async load(): Promise<void> {
    const bytes = (await this.#open()).readAgentState();
    if (bytes === undefined) return;
    this.#memory = parseMemory(bytes);
    this.#kept = bytes.toString("utf8");
  }

  /** What is known from now on; on the disk after the next `keep`. */
  set(memory: Memory): void {
    this.#memory = memory;
  }

  /**
   * Writes it to the disk, where it changed since.
   *
   * @throws LarderError `cache-path`, `disk`
   */
  async keep(): Promise<void> {
    const text = formatMemory(this.#memory);
    if (text === this.#kept) return;
    await (await this.#open()).writeAgentState(text);
    this.#kept = text;
  }
}
