import { posix } from "node:path";

import { LarderError } from "../errors.ts";
import type { TarEntry } from "./tar-entry.ts";

/** Where the content of a file lies in an archive, in bytes from its start. */
export interface Extent {
  readonly offset: number;
  readonly size: number;
}

type Listed =
  | { readonly type: "file"; readonly extent: Extent }
  | { readonly type: "link"; readonly target: string }
  | { readonly type: "outside"; readonly target: string };

export interface ListingLimits {
  readonly entries: number;
  readonly nameBytes: number;
}

/** An archive of one image has hundreds of entries; one of a root file system has more than this. */
const defaultLimits: ListingLimits = { entries: 100_000, nameBytes: 16 * 1024 * 1024 };

/** Links one after another, as Linux allows them. */
const hopLimit = 40;

/**
 * What a tar holds, by name: `./x` and `x` are one, and of two entries with one name the later one
 * counts, since unpacking the archive would leave that. Pure and bounded.
 */
export class ArchiveListing {
  readonly #where: string;
  readonly #limits: ListingLimits;
  readonly #entries = new Map<string, Listed>();
  #nameBytes = 0;

  constructor(where: string, limits: ListingLimits = defaultLimits) {
    this.#where = where;
    this.#limits = limits;
  }

  /** Names of files and links, clean. */
  names(): Iterable<string> {
    return [...this.#entries.keys()].map((key) => Buffer.from(key, "latin1").toString());
  }

  /** Remembers files and links; whatever else an archive holds is no part of an image. */
  add(entry: TarEntry): void {
    const name = cleanName(entry.path.toString("latin1"));
    const listed = listedAs(name, entry);
    if (listed === undefined) return;
    this.#nameBytes += name.length + entry.linkName.length;
    this.#entries.set(name, listed);
    this.#refuseTooMany();
  }

  /**
   * Where a file's content lies, links followed within the archive.
   *
   * @throws LarderError `image` for a link that leaves the archive, leads nowhere or in a circle
   */
  find(name: string): Extent | undefined {
    let key = cleanName(Buffer.from(name).toString("latin1"));
    for (let hops = 0; hops <= hopLimit; hops++) {
      const listed = this.#entries.get(key);
      if (listed?.type === "file") return listed.extent;
      if (listed?.type === "outside") {
        throw this.#badLink(name, `it is a link to ${text(listed.target)}, outside the archive`);
      }
      if (listed === undefined) {
        if (hops === 0) return undefined;
        throw this.#badLink(name, `it is a link to ${text(key)}, which the archive does not hold`);
      }
      key = listed.target;
    }
    throw this.#badLink(name, "it is a link that leads in a circle");
  }

  #badLink(name: string, why: string): LarderError {
    return new LarderError("image", {
      what: `cannot read ${name} of ${this.#where}`,
      why,
      todo: "the archive is damaged or hostile: save the image again",
    });
  }

  #refuseTooMany(): void {
    const { entries, nameBytes } = this.#limits;
    if (this.#entries.size <= entries && this.#nameBytes <= nameBytes) return;
    throw new LarderError("image", {
      what: `cannot read ${this.#where}`,
      why: `it holds more than ${entries} files or ${nameBytes} bytes of names, which no archive of one image does`,
      todo: "give an archive that 'docker save' or a tool for OCI layouts wrote",
    });
  }
}

function listedAs(name: string, entry: TarEntry): Listed | undefined {
  if (entry.kind === "file") {
    return { type: "file", extent: { offset: entry.offset, size: entry.size } };
  }
  if (entry.kind !== "symbolic link" && entry.kind !== "hard link") return undefined;
  const link = entry.linkName.toString("latin1");
  // A symbolic link counts from where it lies, a hard link from the root of the archive.
  const target =
    entry.kind === "hard link" ? cleanName(link) : posix.join(posix.dirname(name), link);
  const leaves = target.startsWith("../") || target === ".." || link.startsWith("/");
  return leaves ? { type: "outside", target: link } : { type: "link", target };
}

function cleanName(name: string): string {
  return posix.normalize(name).replace(/^\/+/, "");
}

function text(key: string): string {
  return Buffer.from(key, "latin1").toString();
}
