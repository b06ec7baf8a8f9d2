/** Tar archives block by block, for what no tar program would write, and reading them back whole. */
import type { TarEntry } from "../../src/image/tar-entry.ts";
import { TarReader } from "../../src/image/tar-reader.ts";

export type Format = "v7" | "ustar" | "gnu" | "star";

export interface RawHeader {
  readonly name: string | Buffer;
  /** Default "0". */
  readonly typeflag?: string;
  /** Of the size field; default what `rawEntry` gets as content. Bytes go in as they are. */
  readonly size?: number | Buffer;
  readonly linkName?: string | Buffer;
  readonly prefix?: string;
  /** Default "ustar". */
  readonly format?: Format;
  /** How the checksum adds up bytes; default "unsigned". */
  readonly checksum?: "unsigned" | "signed" | "wrong";
}

const magics: Readonly<Record<Format, string>> = {
  v7: "",
  ustar: "ustar\u000000",
  gnu: "ustar  \u0000",
  star: "ustar\u000000",
};

export const endBlocks = Buffer.alloc(1024);

export function rawHeader(fields: RawHeader): Buffer {
  const { format = "ustar", size = 0, checksum = "unsigned" } = fields;
  const block = Buffer.alloc(512);
  put(block, fields.name, 0, 100);
  block.write("0000644", 100, "latin1");
  put(block, typeof size === "number" ? size.toString(8).padStart(11, "0") : size, 124, 12);
  block.write("00000000000", 136, "latin1");
  block.write(fields.typeflag ?? "0", 156, "latin1");
  put(block, fields.linkName ?? "", 157, 100);
  block.write(magics[format], 257, "latin1");
  put(block, fields.prefix ?? "", 345, 155);
  if (format === "star") block.write("tar\u0000", 508, "latin1");
  block.fill(0x20, 148, 156);
  block.write(`${sumOf(block, checksum).toString(8).padStart(6, "0")}\u0000 `, 148, "latin1");
  return block;
}

function put(block: Buffer, value: string | Buffer, at: number, length: number): void {
  Buffer.from(value).copy(block, at, 0, length);
}

function sumOf(block: Buffer, checksum: NonNullable<RawHeader["checksum"]>): number {
  const signed = checksum === "signed";
  const sum = block.reduce((total, byte) => total + (signed && byte > 127 ? byte - 256 : byte), 0);
  return checksum === "wrong" ? sum + 1 : sum;
}

/** A header, content and padding; without `size` the header says how much content there is. */
export function rawEntry(fields: RawHeader, content: string | Buffer = ""): Buffer {
  const bytes = Buffer.from(content);
  const padding = Buffer.alloc((512 - (bytes.length % 512)) % 512);
  return Buffer.concat([rawHeader({ size: bytes.length, ...fields }), bytes, padding]);
}

/** A PAX header (typeflag `x` or `g`) with records in the order given. */
export function paxHeader(
  records: readonly (readonly [keyword: string, value: string | Buffer])[],
  typeflag = "x",
): Buffer {
  return rawEntry({ name: "PaxHeaders/0", typeflag }, Buffer.concat(records.map(paxRecord)));
}

export function paxRecord([keyword, value]: readonly [string, string | Buffer]): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${keyword}=`), Buffer.from(value), Buffer.from("\n")]);
  let length = rest.length;
  while (length < rest.length + String(length).length) length++;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

export interface ReadEntry {
  readonly entry: TarEntry;
  readonly content: Buffer;
}

/** Reads a whole archive, cut into pieces of `pieceLength`; errors are thrown. */
export function readAll(archive: Buffer, pieceLength = archive.length): ReadEntry[] {
  const reader = new TarReader("the test archive");
  const entries: { entry: TarEntry; pieces: Buffer[] }[] = [];
  for (let at = 0; at < archive.length; at += pieceLength) {
    for (const event of reader.push(archive.subarray(at, at + pieceLength))) {
      if (event.type === "entry") entries.push({ entry: event.entry, pieces: [] });
      else entries.at(-1)?.pieces.push(event.bytes);
    }
  }
  reader.finish();
  return entries.map(({ entry, pieces }) => ({ entry, content: Buffer.concat(pieces) }));
}

/** The paths in an archive, in order. */
export function pathsIn(archive: Buffer): string[] {
  return readAll(archive).map(({ entry }) => entry.path.toString());
}
