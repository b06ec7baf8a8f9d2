import { LarderError } from "../errors.ts";
import { quotePath } from "./entry-name.ts";
import type { TarEvent } from "./tar-entry.ts";
import { checkExtension, extensionName, Extensions } from "./tar-extension.ts";
import { TarFault } from "./tar-fault.ts";
import { blockSize, parseHeader, type TarHeader } from "./tar-header.ts";

/** What the next bytes are. At the `end` nothing is looked at any more. */
type Phase = "header" | "extension" | "content" | "padding" | "end";

interface Extension {
  readonly typeflag: string;
  readonly name: string;
  readonly body: Buffer;
}

const nothing = Buffer.alloc(0);

/**
 * Reads a tar archive that arrives in pieces: v7, ustar, PAX, star and GNU, all but sparse files.
 * Content is passed on as parts of the pieces, never copied; memory does not grow with the archive.
 */
export class TarReader {
  readonly #archive: string;
  readonly #extensions = new Extensions();
  /** A header of which only the beginning has arrived. */
  readonly #block = Buffer.alloc(blockSize);
  #phase: Phase = "header";
  /** Of the next byte, from the start of the archive. */
  #position = 0;
  /** Bytes left in this phase. */
  #left = blockSize;
  /** Bytes of padding after this content or extension. */
  #padding = 0;
  #afterZeroBlock = false;
  /** The extension header that is being read; undefined while it is an entry. */
  #extension: Extension | undefined;
  /** The entry that was read last. */
  #path: Buffer = nothing;

  /** @param what names the archive in errors, as in `layer 2 of 3 of registry.example.com/app:1` */
  constructor(what: string) {
    this.#archive = what;
  }

  /**
   * Takes the next bytes, cut anywhere, and yields what is in them. The iteration must run to its
   * end, or be left after an entry for `skipData`.
   *
   * @throws LarderError `image` when the bytes are no tar archive, or one with sparse entries
   */
  *push(chunk: Buffer): Generator<TarEvent, void, undefined> {
    const start = this.#position;
    for (let at = 0; at < chunk.length; at = this.#position - start) {
      const event = this.#take(chunk, at);
      if (event !== undefined) yield event;
    }
  }

  /**
   * To be called when the input has ended. It may do so between two entries: whether an archive is
   * whole is told by its digest, and some writers leave the end blocks out.
   *
   * @throws LarderError `image` when the input ended inside a header, an entry or its padding
   */
  finish(): void {
    const inside = this.#unfinished();
    if (inside === undefined) return;
    throw new LarderError("image", {
      what: `cannot read ${this.#archive}`,
      why: `the tar archive ends after ${this.#position} bytes, inside ${inside}`,
      todo: "it is cut short; copy, save or build it again",
    });
  }

  /**
   * Skips what is left of the current entry's content, for archives that can seek.
   *
   * @returns the offset from the start of the archive of the byte that `push` expects next; an
   *   archive with fewer bytes is cut short, which only the caller can see
   */
  skipData(): number {
    if (this.#phase === "content" || this.#phase === "padding") {
      this.#position += this.#left + (this.#phase === "content" ? this.#padding : 0);
      this.#expectHeader();
    }
    return this.#position;
  }

  /** Takes as much of `chunk` from `at` on as belongs together: always something. */
  #take(chunk: Buffer, at: number): TarEvent | undefined {
    const rest = chunk.length - at;
    const length = this.#phase === "end" ? rest : Math.min(this.#left, rest);
    this.#position += length;
    this.#left -= length;
    switch (this.#phase) {
      case "header":
        return this.#takeHeader(chunk, at, length);
      case "extension":
        if (this.#extension !== undefined)
          this.#fill(this.#extension, chunk.subarray(at, at + length));
        break;
      case "content":
        if (this.#left === 0) this.#expectPadding();
        return { type: "data", bytes: chunk.subarray(at, at + length) };
      case "padding":
        if (this.#left === 0) this.#expectHeader();
        break;
      case "end":
    }
    return undefined;
  }

  #takeHeader(chunk: Buffer, at: number, length: number): TarEvent | undefined {
    if (length === blockSize) return this.#openBlock(chunk.subarray(at, at + blockSize));
    chunk.copy(this.#block, blockSize - this.#left - length, at, at + length);
    return this.#left === 0 ? this.#openBlock(this.#block) : undefined;
  }

  #openBlock(block: Buffer): TarEvent | undefined {
    const offset = this.#position - blockSize;
    this.#expectHeader();
    try {
      const header = parseHeader(block);
      if (header === undefined) return this.#endBlock();
      if (this.#afterZeroBlock) throw loneZeroBlock();
      const name = extensionName(header.typeflag);
      return name === undefined ? this.#openEntry(header) : this.#openExtension(header, name);
    } catch (error) {
      throw this.#located(error, offset);
    }
  }

  #openEntry(header: TarHeader): TarEvent {
    const entry = this.#extensions.describe(header, this.#position);
    this.#extension = undefined;
    this.#path = entry.path;
    this.#expectBody("content", entry.size);
    return { type: "entry", entry };
  }

  #openExtension({ typeflag, size }: TarHeader, name: string): undefined {
    checkExtension(name, size);
    this.#extension = { typeflag, name, body: Buffer.alloc(size) };
    this.#expectBody("extension", size);
    if (size === 0) this.#extensions.add(typeflag, nothing);
  }

  #fill({ typeflag, body }: Extension, bytes: Buffer): void {
    bytes.copy(body, body.length - this.#left - bytes.length);
    if (this.#left > 0) return;
    this.#expectPadding();
    try {
      this.#extensions.add(typeflag, body);
    } catch (error) {
      throw this.#located(error, this.#position - body.length);
    }
  }

  /** The first zero block may be the second to last one; the second is where the archive ends. */
  #endBlock(): undefined {
    if (this.#extensions.pending) throw new TarFault("a header describes an entry that is missing");
    if (this.#afterZeroBlock) this.#phase = "end";
    this.#afterZeroBlock = true;
  }

  #expectBody(phase: "content" | "extension", size: number): void {
    this.#padding = (blockSize - (size % blockSize)) % blockSize;
    if (size === 0) return;
    this.#phase = phase;
    this.#left = size;
  }

  #expectPadding(): void {
    if (this.#padding === 0) return this.#expectHeader();
    this.#phase = "padding";
    this.#left = this.#padding;
  }

  #expectHeader(): void {
    this.#phase = "header";
    this.#left = blockSize;
  }

  /** Names what the bytes so far have begun and not ended. */
  #unfinished(): string | undefined {
    const current = this.#extension?.name ?? `entry ${quotePath(this.#path)}`;
    switch (this.#phase) {
      case "header":
        if (this.#left < blockSize) return "a header";
        return this.#extensions.pending ? "an entry: only what describes it is there" : undefined;
      case "extension":
      case "content":
        return `${current}: ${this.#left} bytes before its end`;
      case "padding":
        return `the padding after ${current}`;
      case "end":
    }
    return undefined;
  }

  #located(error: unknown, offset: number): unknown {
    if (!(error instanceof TarFault)) return error;
    return new LarderError("image", {
      what: `cannot read ${this.#archive}`,
      why: `at byte ${offset} of the tar archive: ${error.message}`,
      todo: error.todo ?? "copy, save or build it again",
      cause: error,
    });
  }
}

/**
 * GNU tar warns of one and stops there, others read on past it: one archive, two contents. The
 * programs that containers are unpacked with refuse it, and so does this.
 */
function loneZeroBlock(): TarFault {
  return new TarFault("a single block of zeros stands between entries, where two would end it");
}
