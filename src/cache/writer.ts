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

/** What is known of a file from when it is begun. */
interface Written {
  readonly name: string;
  /** Where it is: under its own name in `new`, or by number where that was taken, in `spare`. */
  readonly spare: boolean;
  sum: string;
  durable: boolean;
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
  readonly #files = new Map<number, Written>();
  readonly #taken = new Set<string>();
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
    const file: Written = { name, spare: this.#taken.has(name), sum: "", durable: false };
    this.#taken.add(name);
    this.#files.set(id, file);
    const path = this.#pathOf(id, file);
    return size <= smallBytes ? this.#small(path, file) : this.#big(path, file, size);
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
    const kept = new Map(survivors.map(({ id }) => [id, this.#fileOf(id)]));
    const slices = new Slices(this.#options.signal);
    for (const [id, file] of this.#files) {
      if (!kept.has(id) && !file.spare) fs.unlinkSync(this.#pathOf(id, file));
      await slices.pause();
    }
    for (const [id, file] of kept) {
      if (file.spare) fs.renameSync(this.#pathOf(id, file), this.directory.at(file.name));
      await slices.pause();
    }
    await removeEntry(this.#options.directory, "spare");
    const unflushed = [...kept.values()].filter((file) => !file.durable).map(({ name }) => name);
    await flushFiles(this.directory, unflushed, flushedAlone, this.#options.signal);
    return new Map([...kept.values()].map(({ name, sum }) => [name, sum]));
  }

  /** Stops writing and closes everything; call it on every path. What was written stays. */
  async close(): Promise<void> {
    this.#failure ??= interrupted("cannot write on");
    await Promise.all([...this.#open].map((file) => file.abandon()));
    this.#spare?.close();
    this.directory.close();
  }

  #small(path: string, file: Written): SinkFile {
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
      file.sum = sum.text();
      this.#guard(file, bytes.length, () => {
        this.#account(file, bytes.length);
        writeSmall(path, bytes, this.owner);
      });
    };
    return { write, end };
  }

  #big(path: string, file: Written, size: number): SinkFile {
    this.#ensureSpace(file, size);
    const big = this.#guard(file, size, () => new BigFile(createFile(path, this.owner)));
    this.#open.add(big);
    const sum = newSum();
    let left = size;
    const write = async (bytes: Buffer): Promise<void> => {
      this.#check();
      this.#account(file, bytes.length);
      const written = big.write(bytes);
      sum.update(bytes);
      left -= bytes.length;
      await written.catch((error: unknown) => this.#refuse(file, left + bytes.length, error));
    };
    const end = async (): Promise<void> => {
      this.#check();
      file.sum = sum.text();
      await this.#closeLater(big, file);
    };
    return { write, end };
  }

  /** Lets a file flush and close while the next ones are written, and waits if there are many. */
  async #closeLater(big: BigFile, file: Written): Promise<void> {
    this.#flushes += 1;
    file.durable = this.#flushes <= flushedAlone;
    this.#open.delete(big);
    const work: Promise<void> = big
      .close(file.durable)
      .catch((error: unknown) => {
        this.#failure ??= this.#errorFor(file, 1, error);
      })
      .finally(() => this.#closing.delete(work));
    this.#closing.add(work);
    if (this.#closing.size >= closingAtOnce) await Promise.race(this.#closing);
  }

  #pathOf(id: number, file: Written): string {
    if (!file.spare) return this.directory.at(file.name);
    this.#spare ??= this.#options.directory.make("spare", this.owner);
    return this.#spare.at(String(id));
  }

  #fileOf(id: number): Written {
    const file = this.#files.get(id);
    if (file === undefined) throw new Error(`file ${id} was never begun`);
    return file;
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#options.signal.aborted) {
      throw interrupted(`cannot write ${this.directory.path}`, this.#options.signal.reason);
    }
  }

  #account(file: Written, bytes: number): void {
    this.#unchecked += bytes;
    if (this.#unchecked < checkEvery) return;
    this.#unchecked = 0;
    this.#ensureSpace(file, 0);
  }

  #ensureSpace(file: Written, needed: number): void {
    const { directory, minFree } = this.#options;
    checkSpace(`cannot write ${file.name}`, directory.path, spaceOf(directory), needed, minFree);
  }

  #guard<T>(file: Written, left: number, action: () => T): T {
    try {
      return action();
    } catch (error) {
      return this.#refuse(file, left, error);
    }
  }

  #refuse(file: Written, left: number, error: unknown): never {
    throw this.#errorFor(file, left, error);
  }

  #errorFor(file: Written, left: number, error: unknown): LarderError {
    return diskError(`cannot write ${this.directory.path}/${file.name}`, error, left);
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
