/** What an entry of a tar archive is. `unsupported` is a type flag that Larder does not know. */
export type EntryKind =
  | "file"
  | "directory"
  | "symbolic link"
  | "hard link"
  | "character device"
  | "block device"
  | "pipe"
  | "unsupported";

/** One entry, with everything that PAX and GNU headers before it said already applied. */
export interface TarEntry {
  /** As in the archive, raw bytes: names need not be UTF-8. */
  readonly path: Buffer;
  readonly kind: EntryKind;
  /** The type flag as a character, for messages. */
  readonly typeflag: string;
  /** Bytes of content that follow. Always 0 for links, directories and devices. */
  readonly size: number;
  /** Target of a link, raw bytes; empty otherwise. */
  readonly linkName: Buffer;
  /** Where the content starts, in bytes from the start of the archive. */
  readonly offset: number;
}

/** What a tar reader says, in order: an entry, then its content in pieces, then the next entry. */
export type TarEvent =
  | { readonly type: "entry"; readonly entry: TarEntry }
  | { readonly type: "data"; readonly bytes: Buffer };
