/** Writes tar archives for tests: any entry that an image could hold, honest or hostile. */

export interface TarSpec {
  readonly path: string | Buffer;
  readonly content?: Buffer | string;
  /** Default `file`; `pax-global` writes its `pax` records as a global header. */
  readonly type?:
    | "file"
    | "directory"
    | "symlink"
    | "hardlink"
    | "char"
    | "block"
    | "fifo"
    | "contiguous"
    | "pax-global";
  readonly linkName?: string | Buffer;
  /** Overrides the flag that `type` implies. */
  readonly typeflag?: string;
  /** Records of a PAX header before the entry; what does not fit ustar is added by itself. */
  readonly pax?: Readonly<Record<string, string | Buffer>>;
  /** Overrides the size field, without changing how much content is written. */
  readonly size?: number;
}

const blockSize = 512;

const typeflags = {
  file: "0",
  hardlink: "1",
  symlink: "2",
  char: "3",
  block: "4",
  directory: "5",
  fifo: "6",
  contiguous: "7",
  "pax-global": "g",
} as const;

/** A ustar archive of `entries`; with `end: false` without the two zero blocks at its end. */
export function tarOf(entries: readonly TarSpec[], options: { end?: boolean } = {}): Buffer {
  const parts = entries.flatMap(entryOf);
  if (options.end !== false) parts.push(Buffer.alloc(2 * blockSize));
  return Buffer.concat(parts);
}

function entryOf(spec: TarSpec): Buffer[] {
  const type = spec.type ?? "file";
  if (type === "pax-global")
    return contentOf(headerOf("pax_global", "g"), recordsOf(spec.pax ?? {}));
  const path = Buffer.from(spec.path);
  const linkName = Buffer.from(spec.linkName ?? "");
  const pax: Record<string, string | Buffer> = {
    ...(path.length > 100 ? { path } : {}),
    ...(linkName.length > 100 ? { linkpath: linkName } : {}),
    ...spec.pax,
  };
  const before =
    Object.keys(pax).length === 0 ? [] : contentOf(headerOf("PaxHeaders/x", "x"), recordsOf(pax));
  const header = headerOf(path, spec.typeflag ?? typeflags[type], linkName);
  return [...before, ...contentOf(header, Buffer.from(spec.content ?? ""), spec.size)];
}

function headerOf(path: string | Buffer, typeflag: string, linkName: string | Buffer = ""): Buffer {
  const header = Buffer.alloc(blockSize);
  Buffer.from(path).copy(header, 0, 0, 100);
  header.write(typeflag === "5" ? "0000755" : "0000644", 100, "latin1");
  header.write("0000000", 108, "latin1");
  header.write("0000000", 116, "latin1");
  header.write("00000000000", 136, "latin1");
  header.write(typeflag, 156, 1, "latin1");
  Buffer.from(linkName).copy(header, 157, 0, 100);
  header.write("ustar\u000000", 257, "latin1");
  header.write("0000000", 329, "latin1");
  header.write("0000000", 337, "latin1");
  return header;
}

function contentOf(header: Buffer, content: Buffer, size = content.length): Buffer[] {
  header.write(size.toString(8).padStart(11, "0"), 124, "latin1");
  header.write(" ".repeat(8), 148, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\u0000 `, 148, "latin1");
  const padding = (blockSize - (content.length % blockSize)) % blockSize;
  return [header, content, Buffer.alloc(padding)];
}

function recordsOf(pax: Readonly<Record<string, string | Buffer>>): Buffer {
  return Buffer.concat(
    Object.entries(pax).map(([key, value]) => {
      const rest = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from("\n")]);
      // The length counts its own digits, so a longer number can make itself longer.
      let length = rest.length;
      while (length !== rest.length + String(length).length) {
        length = rest.length + String(length).length;
      }
      return Buffer.concat([Buffer.from(String(length)), rest]);
    }),
  );
}
