import { quotePath } from "./entry-name.ts";
import { parsePax, paxSize, sparseKeyword } from "./pax.ts";
import type { TarEntry } from "./tar-entry.ts";
import { TarFault } from "./tar-fault.ts";
import type { TarHeader } from "./tar-header.ts";
import { hasContent, kindOf } from "./tar-kind.ts";

/** What an extension header may hold; a real one has some hundred bytes. */
const maxExtensionBytes = 1024 * 1024;

const extensionNames: Readonly<Record<string, string>> = {
  x: "PAX header",
  g: "PAX global header",
  L: "GNU long name",
  K: "GNU long link name",
};

/** The name of an extension header, which describes entries and is none; undefined for entries. */
export function extensionName(typeflag: string): string | undefined {
  return extensionNames[typeflag];
}

/** @throws TarFault when an extension header is larger than any that describes a file */
export function checkExtension(name: string, size: number): void {
  if (size <= maxExtensionBytes) return;
  throw new TarFault(`a ${name} has ${size} bytes, and at most ${maxExtensionBytes} are allowed`);
}

/**
 * Collects what the headers before an entry say about it. Programs differ in what counts when
 * headers contradict each other; here it is as in Go's archive/tar, with which container runtimes
 * unpack: the last of several PAX headers, and a GNU long name before a PAX path.
 */
export class Extensions {
  #records: ReadonlyMap<string, Buffer> = new Map();
  #longName: Buffer | undefined;
  #longLinkName: Buffer | undefined;
  /** Whether something was said about an entry that has not come yet. */
  pending = false;

  /** @throws TarFault when the body is malformed, or speaks for all entries of what only one has */
  add(typeflag: string, body: Buffer): void {
    if (typeflag === "g") return refuseGlobal(parsePax(body));
    this.pending = true;
    if (typeflag === "x") this.#records = parsePax(body);
    else if (typeflag === "L") this.#longName = untilNul(body);
    else this.#longLinkName = untilNul(body);
  }

  /** Makes the entry of a header and forgets what was said about it. */
  describe(header: TarHeader, offset: number): TarEntry {
    if (!this.pending) return entryOf(header, header.path, header.linkName, header.size, offset);
    const records = this.#records;
    const path = this.#longName ?? records.get("path") ?? header.path;
    const linkName = this.#longLinkName ?? records.get("linkpath") ?? header.linkName;
    const size = paxSize(records) ?? header.size;
    refuseSparse(records, path);
    this.#records = new Map();
    this.#longName = undefined;
    this.#longLinkName = undefined;
    this.pending = false;
    return entryOf(header, path, linkName, size, offset);
  }
}

function entryOf(
  { typeflag }: TarHeader,
  path: Buffer,
  linkName: Buffer,
  size: number,
  offset: number,
): TarEntry {
  if (typeflag === "S") throw sparse(path, "type S");
  const kind = kindOf(typeflag, path);
  return { path, kind, typeflag, size: hasContent(kind) ? size : 0, linkName, offset };
}

function refuseSparse(records: ReadonlyMap<string, Buffer>, path: Buffer): void {
  const keyword = sparseKeyword(records);
  if (keyword !== undefined) throw sparse(records.get("GNU.sparse.name") ?? path, keyword);
}

function sparse(path: Buffer, how: string): TarFault {
  return new TarFault(
    `entry ${quotePath(path)} is sparse (${how})`,
    "make the archive again without sparse files (tar without --sparse)",
  );
}

/**
 * Global headers carry comments, such as the commit that an archive was made from. Of a path or a
 * size for everything that follows programs make different things, and no archive needs one.
 */
function refuseGlobal(records: ReadonlyMap<string, Buffer>): void {
  const keyword = ["path", "linkpath", "size"].find((it) => records.has(it));
  const refused = keyword ?? sparseKeyword(records);
  if (refused === undefined) return;
  throw new TarFault(`a PAX global header gives all entries the same ${refused}`);
}

/** Undefined when nothing is left, which leaves the header's own field in force. */
function untilNul(body: Buffer): Buffer | undefined {
  const nul = body.indexOf(0);
  const text = nul === -1 ? body : body.subarray(0, nul);
  return text.length === 0 ? undefined : text;
}
