import { TarFault } from "./tar-fault.ts";

/** Everything in a tar archive starts at a multiple of this many bytes. */
export const blockSize = 512;

/** The fields of a header block that matter for getting files out; owners, modes and times do not. */
export interface TarHeader {
  /** Prefix and name joined, raw bytes, a copy. */
  readonly path: Buffer;
  /** Raw bytes, a copy; empty for most entries. */
  readonly linkName: Buffer;
  /** The size field; what it means depends on the type. */
  readonly size: number;
  /** One character; NUL is the regular file of the oldest archives. */
  readonly typeflag: string;
}

/** Byte offsets in a block. */
interface Field {
  readonly start: number;
  readonly end: number;
}

// POSIX.1-2017, pax, "ustar Interchange Format".
const nameField = { start: 0, end: 100 };
const sizeField = { start: 124, end: 136 };
const checksumField = { start: 148, end: 156 };
const typeflagOffset = 156;
const linkNameField = { start: 157, end: 257 };
const magicField = { start: 257, end: 263 };
const prefixField = { start: 345, end: 500 };
// Schilling's star keeps two times behind a shorter prefix, and says so at the block's end.
const starPrefixField = { start: 345, end: 476 };
const starTrailerField = { start: 508, end: 512 };

const empty = Buffer.alloc(0);
const space = 0x20;
const slash = Buffer.from("/");

/**
 * Reads one block of 512 bytes: v7, ustar, PAX, star or GNU.
 *
 * @returns undefined for a block of zeros, two of which end an archive
 * @throws TarFault when the checksum is wrong or a number is none
 */
export function parseHeader(block: Buffer): TarHeader | undefined {
  const sums = sumBytes(block);
  if (sums.isZero) return undefined;
  checkSum(block, sums);
  return {
    path: pathOf(block),
    linkName: textField(block, linkNameField),
    size: parseNumber(block, sizeField, "size"),
    typeflag: String.fromCharCode(block[typeflagOffset] ?? 0),
  };
}

interface Sums {
  readonly isZero: boolean;
  readonly unsigned: number;
  /** As wrote some old tars, whose char had a sign. */
  readonly signed: number;
}

function sumBytes(block: Buffer): Sums {
  let sum = 0;
  let high = 0;
  for (let at = 0; at < blockSize; at++) {
    const byte = block[at] ?? 0;
    sum += byte;
    if (byte > 0x7f) high++;
  }
  const isZero = sum === 0;
  // The checksum is taken with its own field full of spaces.
  for (let at = checksumField.start; at < checksumField.end; at++) {
    const byte = block[at] ?? 0;
    sum += space - byte;
    if (byte > 0x7f) high--;
  }
  return { isZero, unsigned: sum, signed: sum - high * 0x100 };
}

function checkSum(block: Buffer, sums: Sums): void {
  const stored = parseNumber(block, checksumField, "checksum");
  if (stored === sums.unsigned || stored === sums.signed) return;
  throw new TarFault(
    `no tar header: the checksum in it is ${stored}, that of its bytes ${sums.unsigned}`,
  );
}

function pathOf(block: Buffer): Buffer {
  const name = textField(block, nameField);
  // GNU tar ends its magic with a space and keeps times where ustar has the prefix.
  if (block.toString("latin1", magicField.start, magicField.end) !== "ustar\0") return name;
  const isStar = block.toString("latin1", starTrailerField.start, starTrailerField.end) === "tar\0";
  const prefix = textField(block, isStar ? starPrefixField : prefixField);
  return prefix.length === 0 ? name : Buffer.concat([prefix, slash, name]);
}

/** Up to the first NUL, or the whole field: a name that fills it has no terminator. */
function textField(block: Buffer, field: Field): Buffer {
  if (block[field.start] === 0) return empty;
  const nul = block.indexOf(0, field.start);
  const end = nul === -1 || nul > field.end ? field.end : nul;
  return Buffer.from(block.subarray(field.start, end));
}

/**
 * A numeric field: octal digits, or GNU's base-256 when the first bit is set. An empty one is 0.
 *
 * @throws TarFault naming the field, when it is no number, negative, or too large to count with
 */
function parseNumber(block: Buffer, field: Field, name: string): number {
  const first = block[field.start] ?? 0;
  if ((first & 0x80) === 0)
    return parseOctal(block.toString("latin1", field.start, field.end), name);
  return parseBinary(block.subarray(field.start, field.end), name);
}

// Padded on either side with spaces or NULs; what follows a NUL is what was in the writer's memory.
const octalField = /^[ \0]*([0-7]*) *(?:\0.*)?$/s;

function parseOctal(text: string, name: string): number {
  const digits = octalField.exec(text)?.[1];
  if (digits === undefined) throw new TarFault(`no tar header: the ${name} in it is no number`);
  return digits === "" ? 0 : Number.parseInt(digits, 8);
}

function parseBinary(field: Buffer, name: string): number {
  const first = field[0] ?? 0;
  if ((first & 0x40) !== 0) throw new TarFault(`the ${name} in a header is negative`);
  let value = first & 0x3f;
  for (const byte of field.subarray(1)) {
    value = value * 0x100 + byte;
    // Beyond this, numbers have gaps. Nothing this large exists.
    if (value > Number.MAX_SAFE_INTEGER) throw new TarFault(`the ${name} in a header is too large`);
  }
  return value;
}
