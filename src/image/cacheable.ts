import { nameFault, quotePath } from "./entry-name.ts";
import type { EntryKind } from "./tar-entry.ts";

/** An entry of a layer, as far as it decides whether an image can be cached. */
export interface LayerEntry {
  /** Times grow from lower to higher layers and within one. */
  readonly time: number;
  /** Counted from 0, lowest first. */
  readonly layer: number;
  readonly kind: EntryKind;
  readonly typeflag: string;
  readonly size: number;
  /** Of the file whose content is being written; undefined for everything else. */
  readonly id: number | undefined;
}

/** What is left at a path when the layers are laid over each other. */
export interface Standing {
  readonly entry: LayerEntry;
  /** Last component, one character a byte. */
  readonly name: string;
  /** The whole path as text. */
  readonly path: () => string;
}

/** Why an image cannot be cached. */
export interface Objection {
  readonly why: string;
  readonly todo: string;
}

/**
 * What speaks against an entry that is left.
 *
 * @param blocker what stands, as no directory, at a path above it
 */
export function objectionTo(
  standing: Standing,
  blocker: Standing | undefined,
): Objection | undefined {
  const { entry, name } = standing;
  if (blocker !== undefined) {
    return {
      why: `${place(standing)} lies below ${place(blocker)}, which is ${describeKind(blocker.entry)} and no directory`,
      todo: "build the image so that a directory or a whiteout replaces the one before the other is added",
    };
  }
  if (entry.kind === "directory") return undefined;
  if (entry.kind !== "file") {
    return { why: `${place(standing)} is ${describeKind(entry)}`, todo: remedyFor(entry.kind) };
  }
  const fault = nameFault(name);
  if (fault === undefined) return undefined;
  return {
    why: `${place(standing)} ${fault}`,
    todo: "rename it and build the image again; it is cached under its base name",
  };
}

/** What speaks against two files that would be cached under one name. */
export function objectionToBoth(first: Standing, second: Standing): Objection {
  return {
    why: `${place(first)} and ${place(second)} have the same base name`,
    todo: "rename one of them and build the image again; files are cached under their base names",
  };
}

/** An entry as messages name it; layers are counted from 1 there. */
function place({ path, entry }: Standing): string {
  return `${quotePath(path())} of layer ${entry.layer + 1}`;
}

/** As in `is a symbolic link`. */
export function describeKind(entry: {
  readonly kind: EntryKind;
  readonly typeflag: string;
}): string {
  if (entry.kind === "unsupported") return `an entry of the unknown type "${entry.typeflag}"`;
  return `a ${entry.kind === "file" ? "regular file" : entry.kind}`;
}

function remedyFor(kind: EntryKind): string {
  return kind === "symbolic link" || kind === "hard link"
    ? "only regular files can be cached; build the image with a copy of the file in its place, or without it"
    : "only regular files can be cached; build the image without it";
}
