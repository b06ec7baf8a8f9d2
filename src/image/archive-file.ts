import type { ArchiveListing, Extent } from "./archive-listing.ts";
import { scanArchive } from "./archive-scan.ts";
import { compressionOf, decompress } from "./decompress.ts";
import type { DiskFile } from "./disk-file.ts";
import { refuseLarge, refuseMissing, type NamedFiles } from "./named-files.ts";

/**
 * The files of a tar, read in place. A plain tar is sought through; a compressed one is decompressed
 * again for each file that is opened, so that nothing is ever stored beside it.
 */
export class ArchiveFile implements NamedFiles {
  readonly where: string;
  readonly #file: DiskFile;
  readonly #compressed: boolean;
  readonly #listing: ArchiveListing;
  readonly #kept: ReadonlyMap<number, Buffer>;

  private constructor(
    file: DiskFile,
    compressed: boolean,
    listing: ArchiveListing,
    kept: ReadonlyMap<number, Buffer>,
  ) {
    this.where = file.path;
    this.#file = file;
    this.#compressed = compressed;
    this.#listing = listing;
    this.#kept = kept;
  }

  /**
   * Lists the archive. The file is the archive's to close from here on, also when this fails.
   *
   * @throws LarderError `image` where it is no tar, is cut short or holds too much; `disk` where it
   *   cannot be read
   */
  static async open(file: DiskFile, signal: AbortSignal): Promise<ArchiveFile> {
    try {
      const start = await file.readAt(0, 4, signal);
      const compressed = compressionOf(start) !== "none";
      const { listing, kept } = await scanArchive(file, compressed, signal);
      await file.refuseChange();
      return new ArchiveFile(file, compressed, listing, kept);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  list(): Iterable<string> {
    return this.#listing.names();
  }

  size(name: string): Promise<number | undefined> {
    return Promise.try(() => this.#listing.find(name)?.size);
  }

  async readSmall(name: string, limit: number, signal: AbortSignal): Promise<Buffer> {
    const extent = this.#find(name);
    if (extent.size > limit) throw refuseLarge(name, this.where, extent.size, limit);
    const kept = this.#kept.get(extent.offset);
    if (kept !== undefined) return kept;
    const blocks: Buffer[] = [];
    for await (const block of this.#extent(extent, signal)) blocks.push(block);
    return Buffer.concat(blocks);
  }

  async *open(name: string, signal: AbortSignal): AsyncGenerator<Buffer> {
    yield* this.#extent(this.#find(name), signal);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async *#extent({ offset, size }: Extent, signal: AbortSignal): AsyncGenerator<Buffer> {
    if (this.#compressed) {
      const raw = this.#file.read(0, this.#file.size, signal);
      yield* truthfully(this.#file, cut(decompress(raw, this.where), offset, size));
    } else {
      yield* this.#file.read(offset, offset + size, signal);
    }
  }

  #find(name: string): Extent {
    const extent = this.#listing.find(name);
    if (extent === undefined) throw refuseMissing(name, this.where);
    return extent;
  }
}

/** Bytes that make no sense because they changed meanwhile are reported as just that. */
async function* truthfully(file: DiskFile, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* source;
  } catch (error) {
    await file.refuseChange();
    throw error;
  }
  await file.refuseChange();
}

/** `size` bytes from `offset` of a stream, which is ended there. */
async function* cut(
  source: AsyncIterable<Buffer>,
  offset: number,
  size: number,
): AsyncGenerator<Buffer> {
  if (size === 0) return;
  let at = 0;
  for await (const block of source) {
    const piece = block.subarray(Math.max(0, offset - at), Math.max(0, offset + size - at));
    if (piece.length > 0) yield piece;
    at += block.length;
    if (at >= offset + size) return;
  }
}
