import type { EntryKind } from "./tar-entry.ts";

const slash = 0x2f;

/** What kind of entry a type flag stands for; flags of dumps, volumes and vendors are unsupported. */
export function kindOf(typeflag: string, path: Buffer): EntryKind {
  switch (typeflag) {
    case "\0":
      // The oldest archives know directories only by the end of their name.
      return path.at(-1) === slash ? "directory" : "file";
    case "0":
    case "7": // contiguous: a hint for file systems long gone
      return "file";
    case "1":
      return "hard link";
    case "2":
      return "symbolic link";
    case "3":
      return "character device";
    case "4":
      return "block device";
    case "5":
      return "directory";
    case "6":
      return "pipe";
    default:
      return "unsupported";
  }
}

/**
 * Whether content follows an entry that gives a size. In links, directories, devices and pipes
 * writers put all kinds of hints there (how large the linked file is, how many bytes a directory may
 * grow to), and no content. Go's archive/tar, which container runtimes unpack with, sees it so too;
 * a writer that did put content there is found out, since content is no header.
 */
export function hasContent(kind: EntryKind): boolean {
  return kind === "file" || kind === "unsupported";
}
