import * as fs from "node:fs";

import { interrupted, type LarderError } from "../errors.ts";
import type { Sink, SinkFile } from "../image/unpack.ts";
import { BigFile } from "./big-file.ts";
import { ownerFor, type Directory, type Owner } from "./directory.ts";
import { diskError } from "./disk-error.ts";
import { createFile } from "./file.ts";
import { flushFiles } from "./flush.ts";
import { removeEntry } from "./remove.ts";
import { isFileName } from "./sentinel.ts";
import { Slices } from "./slices.ts";
import { checkSpace, spaceOf, type MinFree } from "./space.ts";
import { newSum } from "./sum.ts";

/** Up to here a file is held until it is whole and written at once: a third of the cost. */
const smallBytes = 256 * 1024;
/** Bytes after which the free space is looked at again. */
const checkEvery = 64 * 1024 * 1024;
/** Files that may be being flushed and closed while the next ones are written. */
const closingAtOnce = 4;
/** Flushing more files one by one takes longer than flushing the file system. */
const flushedAlone = 64;

export interface WriterOptions {
  /** The run's hidden directory. */
  readonly directory: Directory;
  readonly signal: AbortSignal;
  readonly minFree?: MinFree | undefined;
}

/**
 * Writes the files of an image into the directories `new` and `spare` of a run: each file
 * exclusively, 0644, with a checksum; flushed on the way, so that little is left to flush in the end.
 */
export class Writer implements Sink {
  /** Where the files end up. */
  readonly directory: Directory;
  readonly owner: Owner | undefined;
  readonly #options: WriterOptions;
  /** Names by the files' ids. */
  readonly #names: string[] = [];
  /** Checksums by the files' ids, as text. */
  readonly #sums: string[] = [];
  /** By name, the one file that has it in `new`; the others are in `spare`, by their ids. */
  readonly #holders = new Map<string, number>();
  /** Files that need no flushing in the end. */
  readonly #durable = new Set<number>();
  readonly #open = new Set<BigFile>();
  readonly #closing = new Set<Promise<void>>();
  #spare: Directory | undefined;
  #failure: LarderError | undefined;
  #unchecked = 0;
  #flushes = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.owner = ownerFor(options.directory);
    this.directory = options.directory.make("new", this.owner);
  }

  create(id: number, name: string, size: number): SinkFile {
    this.#check();
    if (!isFileName(name)) throw new Error(`${JSON.stringify(name)} is no file name`);
    if (id !== this.#names.length) throw new Error(`file ${id} is not the next one`);
    this.#names.push(name);
    this.#sums.push("");
    if (!this.#holders.has(name)) this.#holders.set(name, id);
    return size <= smallBytes ? this.#small(id) : this.#big(id, size);
  }

  /**
   * Deletes what did not survive, gives the rest its names, and flushes it.
   *
   * @returns checksums by name, in the order given
   */
  async finish(
    survivors: readonly { readonly id: number }[],
  ): Promise<ReadonlyMap<string, string>> {
    await Promise.all(this.#closing);
    this.#check();
    const kept = new Uint8Array(this.#names.length);
    for (const { id } of survivors) kept[id] = 1;
    const slices = new Slices(this.#options.signal);
    for (const [name, id] of this.#holders) {
      if (kept[id] !== 1) fs.unlinkSync(this.directory.at(name));
      await slices.pause();
    }
    const sums = new Map<string, string>();
    const unflushed: string[] = [];
    for (const { id } of survivors) {
      const name = this.#nameOf(id);
      if (this.#isSpare(id)) fs.renameSync(this.#pathOf(id), this.directory.at(name));
      if (!this.#durable.has(id)) unflushed.push(name);
      sums.set(name, this.#sums[id] ?? "");
      await slices.pause();
    }
    await removeEntry(this.#options.directory, "spare");
    await flushFiles(this.directory, unflushed, flushedAlone, this.#options.signal);
    return sums;
  }

  /** Stops writing and closes everything; call it on every path. What was written stays. */
  async close(): Promise<void> {
    this.#failure ??= interrupted("cannot write on");
    await Promise.all([...this.#open].map((file) => file.abandon()));
    this.#spare?.close();
    this.directory.close();
  }

  #small(id: number): SinkFile {
    const blocks: Buffer[] = [];
    const write = (bytes: Buffer): void => {
      this.#check();
      blocks.push(bytes);
    };
    const end = (): void => {
      this.#check();
      const [first] = blocks;
      const bytes = blocks.length === 1 && first !== undefined ? first : Buffer.concat(blocks);
      const sum = newSum();
      sum.update(bytes);
      this.#sums[id] = sum.text();
      this.#guard(id, bytes.length, () => {
        this.#account(id, bytes.length);
        writeSmall(this.#pathOf(id), bytes, this.owner);
      });
    };
    return { write, end };
  }

  #big(id: number, size: number): SinkFile {
    this.#ensureSpace(id, size);
    const big = this.#guard(id, size, () => new BigFile(createFile(this.#pathOf(id), this.owner)));
    this.#open.add(big);
    const sum = newSum();
    let left = size;
    const write = async (bytes: Buffer): Promise<void> => {
      this.#check();
      this.#account(id, bytes.length);
      const written = big.write(bytes);
      sum.update(bytes);
      left -= bytes.length;
      await written.catch((error: unknown) => this.#refuse(id, left + bytes.length, error));
    };
    const end = async (): Promise<void> => {
      this.#check();
      this.#sums[id] = sum.text();
      await this.#closeLater(big, id);
    };
    return { write, end };
  }

  /** Lets a file flush and close while the next ones are written, and waits if there are many. */
  async #closeLater(big: BigFile, id: number): Promise<void> {
    this.#flushes += 1;
    const durable = this.#flushes <= flushedAlone;
    if (durable) this.#durable.add(id);
    this.#open.delete(big);
    const work: Promise<void> = big
      .close(durable)
      .catch((error: unknown) => {
        this.#failure ??= this.#errorFor(id, 1, error);
      })
      .finally(() => this.#closing.delete(work));
    this.#closing.add(work);
    if (this.#closing.size >= closingAtOnce) await Promise.race(this.#closing);
  }

  #pathOf(id: number): string {
    if (!this.#isSpare(id)) return this.directory.at(this.#nameOf(id));
    this.#spare ??= this.#options.directory.make("spare", this.owner);
    return this.#spare.at(String(id));
  }

  #isSpare(id: number): boolean {
    return this.#holders.get(this.#nameOf(id)) !== id;
  }

  #nameOf(id: number): string {
    const name = this.#names[id];
    if (name === undefined) throw new Error(`file ${id} was never begun`);
    return name;
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#options.signal.aborted) {
      throw interrupted(`cannot write ${this.directory.path}`, this.#options.signal.reason);
    }
  }

  #account(id: number, bytes: number): void {
    this.#unchecked += bytes;
    if (this.#unchecked < checkEvery) return;
    this.#unchecked = 0;
    this.#ensureSpace(id, 0);
  }

  #ensureSpace(id: number, needed: number): void {
    const { directory, minFree } = this.#options;
    checkSpace(
      `cannot write ${this.#nameOf(id)}`,
      directory.path,
      spaceOf(directory),
      needed,
      minFree,
    );
  }

  #guard<T>(id: number, left: number, action: () => T): T {
    try {
      return action();
    } catch (error) {
      return this.#refuse(id, left, error);
    }
  }

  #refuse(id: number, left: number, error: unknown): never {
    throw this.#errorFor(id, left, error);
  }

  #errorFor(id: number, left: number, error: unknown): LarderError {
    return diskError(`cannot write ${this.directory.path}/${this.#nameOf(id)}`, error, left);
  }
}

function writeSmall(path: string, bytes: Buffer, owner: Owner | undefined): void {
  const fd = createFile(path, owner);
  try {
    for (let done = 0; done < bytes.length;) done += fs.writeSync(fd, bytes, done);
  } finally {
    fs.closeSync(fd);
  }
}
