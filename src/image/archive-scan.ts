import { LarderError } from "../errors.ts";
import { ArchiveListing } from "./archive-listing.ts";
import { decompress } from "./decompress.ts";
import type { DiskFile } from "./disk-file.ts";
import { beginsLikeTar, notAnArchive } from "./not-an-archive.ts";
import type { TarEntry, TarEvent } from "./tar-entry.ts";
import { TarReader } from "./tar-reader.ts";

/** Headers come one by one between large contents: a small read for each wastes least. */
const headerReadBytes = 16 * 1024;

/** Manifests and configs are kept from the one pass over a compressed archive, up to these sizes. */
const keptFileBytes = 256 * 1024;
const keptBytes = 16 * 1024 * 1024;

const blockBytes = 512;

export interface Scan {
  readonly listing: ArchiveListing;
  /** Contents of small files by their offset; none for a plain tar, where reading them is cheap. */
  readonly kept: ReadonlyMap<number, Buffer>;
}

/**
 * Reads the headers of a tar: by seeking where it is plain, by reading it all where compressed.
 *
 * @throws LarderError `image` where it is no tar, is cut short or holds too much; `disk` where it
 *   cannot be read
 */
export async function scanArchive(
  file: DiskFile,
  compressed: boolean,
  signal: AbortSignal,
): Promise<Scan> {
  const scan = new Scanning(file.path);
  await (compressed ? scanAll(file, scan, signal) : scanBySeeking(file, scan, signal));
  scan.finish();
  return scan;
}

/** The listing as it grows. */
class Scanning implements Scan {
  readonly listing: ArchiveListing;
  readonly kept = new Map<number, Buffer>();
  readonly #where: string;
  readonly #reader: TarReader;
  /** The first block, which tells whether this is a tar. */
  #start = Buffer.alloc(0);

  constructor(where: string) {
    this.#where = where;
    this.#reader = new TarReader(where);
    this.listing = new ArchiveListing(where);
  }

  *push(chunk: Buffer): Generator<TarEvent> {
    this.#refuseOther(chunk);
    for (const event of this.#reader.push(chunk)) {
      if (event.type === "entry") this.listing.add(event.entry);
      yield event;
    }
  }

  skipData(): number {
    return this.#reader.skipData();
  }

  finish(): void {
    if (this.#start.length < blockBytes) throw notAnArchive(this.#where, this.#start);
    this.#reader.finish();
  }

  /** Asked before the tar reader: what that says of a web page helps nobody. */
  #refuseOther(chunk: Buffer): void {
    const lacking = blockBytes - this.#start.length;
    if (lacking === 0) return;
    this.#start = Buffer.concat([this.#start, chunk.subarray(0, lacking)]);
    if (this.#start.length === blockBytes && !beginsLikeTar(this.#start)) {
      throw notAnArchive(this.#where, this.#start);
    }
  }
}

async function scanBySeeking(file: DiskFile, scan: Scanning, signal: AbortSignal): Promise<void> {
  for (let at = 0; at < file.size;) {
    const chunk = await file.readAt(at, Math.min(headerReadBytes, file.size - at), signal);
    if (chunk.length === 0) break;
    at = scanChunk(file, scan, chunk, at);
  }
}

/** Takes the headers in a chunk that begins at `start`; returns where to read on. */
function scanChunk(file: DiskFile, scan: Scanning, chunk: Buffer, start: number): number {
  const end = start + chunk.length;
  let at = start;
  while (at < end) {
    const entry = nextContent(scan, chunk.subarray(at - start));
    if (entry === undefined) return end;
    at = scan.skipData();
    if (at > file.size) throw cutShort(file, entry);
  }
  return at;
}

/** The next entry with content; undefined when the chunk ends first. */
function nextContent(scan: Scanning, chunk: Buffer): TarEntry | undefined {
  for (const event of scan.push(chunk)) {
    if (event.type !== "entry") continue;
    if (event.entry.size > 0) return event.entry;
  }
  return undefined;
}

async function scanAll(file: DiskFile, scan: Scanning, signal: AbortSignal): Promise<void> {
  const keeper = new Keeper(scan.kept);
  for await (const chunk of decompress(file.read(0, file.size, signal), file.path)) {
    for (const event of scan.push(chunk)) keeper.take(event);
  }
}

/** Keeps the contents of small files as they pass. */
class Keeper {
  readonly #kept: Map<number, Buffer>;
  #room = keptBytes;
  #current: { buffer: Buffer; filled: number } | undefined;

  constructor(kept: Map<number, Buffer>) {
    this.#kept = kept;
  }

  take(event: TarEvent): void {
    if (event.type === "entry") this.#begin(event.entry);
    else if (this.#current !== undefined) {
      this.#current.filled += event.bytes.copy(this.#current.buffer, this.#current.filled);
    }
  }

  #begin({ offset, size }: TarEntry): void {
    this.#current = undefined;
    if (size === 0 || size > keptFileBytes || size > this.#room) return;
    this.#room -= size;
    this.#current = { buffer: Buffer.alloc(size), filled: 0 };
    this.#kept.set(offset, this.#current.buffer);
  }
}

function cutShort(file: DiskFile, entry: TarEntry): LarderError {
  return new LarderError("image", {
    what: `cannot read ${file.path}`,
    why: `it ends inside ${entry.path.toString()}, after ${file.size} bytes: it is cut short`,
    todo: "copy it again and compare the sizes, or save the image again",
  });
}
