import { TarFault } from "./tar-fault.ts";

const space = 0x20;
const equals = 0x3d;
const newline = 0x0a;

/** More digits than any length needs: a header has at most a million bytes. */
const maxLengthDigits = 10;

/**
 * Reads the records of a PAX header, each `<length> <keyword>=<value>\n` where the length counts all
 * of it in decimal. Of two with one keyword the last counts. An empty value takes back what was said
 * before it in the same header, so that the field of the ustar header holds.
 *
 * @returns values as raw bytes that share the memory of `bytes`
 * @throws TarFault when a length, a keyword or the end of a record is not where it should be
 */
export function parsePax(bytes: Buffer): Map<string, Buffer> {
  const records = new Map<string, Buffer>();
  for (let at = 0; at < bytes.length;) {
    const record = recordAt(bytes, at);
    if (record.value.length === 0) records.delete(record.keyword);
    else records.set(record.keyword, record.value);
    at = record.end;
  }
  return records;
}

interface PaxRecord {
  readonly keyword: string;
  readonly value: Buffer;
  readonly end: number;
}

function recordAt(bytes: Buffer, start: number): PaxRecord {
  const { length, digits } = lengthAt(bytes, start);
  const end = start + length;
  if (end > bytes.length) throw new TarFault("a PAX record is longer than its header");
  const keywordStart = start + digits + 1;
  const equalsAt = bytes.indexOf(equals, keywordStart);
  if (equalsAt <= keywordStart || equalsAt >= end || bytes[end - 1] !== newline) {
    throw new TarFault("a PAX record is not of the form `<length> <keyword>=<value>`");
  }
  const keyword = bytes.toString("latin1", keywordStart, equalsAt);
  const value = bytes.subarray(equalsAt + 1, end - 1);
  // C programs would end such a name at the NUL, others not: one archive, two contents.
  if ((keyword === "path" || keyword === "linkpath") && value.includes(0)) {
    throw new TarFault(`the ${keyword} in a PAX header contains a NUL byte`);
  }
  return { keyword, value, end };
}

function lengthAt(bytes: Buffer, start: number): { length: number; digits: number } {
  const field = bytes.toString("latin1", start, start + maxLengthDigits + 1);
  const digits = field.indexOf(String.fromCharCode(space));
  const text = field.slice(0, Math.max(digits, 0));
  if (!/^\d+$/.test(text)) throw new TarFault("a PAX record does not begin with its length");
  return { length: Number(text), digits };
}

/**
 * The size that a PAX header gives an entry, which may be larger than a ustar header can say.
 *
 * @throws TarFault when it is no whole number, or too large to count with
 */
export function paxSize(records: ReadonlyMap<string, Buffer>): number | undefined {
  const text = records.get("size")?.toString("latin1");
  if (text === undefined) return undefined;
  const size = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(size)) {
    throw new TarFault("the size in a PAX header is no number that a file could have");
  }
  return size;
}

/** The keyword by which a PAX header says that its entry is sparse: GNU tar's, or star's. */
export function sparseKeyword(records: ReadonlyMap<string, Buffer>): string | undefined {
  return records
    .keys()
    .find((keyword) => keyword.startsWith("GNU.sparse.") || keyword === "SCHILY.realsize");
}
