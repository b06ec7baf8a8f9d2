import { LarderError } from "../errors.ts";
import { parseHeader } from "./tar-header.ts";

/** Formats that people mistake for an archive of an image, told by how they begin. */
const strangers: readonly { start: Buffer; name: string; todo: string }[] = [
  {
    start: Buffer.from("fd377a585a00", "hex"),
    name: "xz-compressed",
    todo: "decompress it first (xz -d)",
  },
  { start: Buffer.from("BZh"), name: "bzip2-compressed", todo: "decompress it first (bzip2 -d)" },
  {
    start: Buffer.from("04224d18", "hex"),
    name: "lz4-compressed",
    todo: "decompress it first (lz4 -d)",
  },
  {
    start: Buffer.from("PK\u0003\u0004"),
    name: "a zip file",
    todo: "unzip it and give what was in it",
  },
  {
    start: Buffer.from("377abcaf271c", "hex"),
    name: "a 7z file",
    todo: "unpack it and give what was in it",
  },
  {
    start: Buffer.from("<"),
    name: "a web page",
    todo: "download the archive again, and look at what the server answers",
  },
  {
    start: Buffer.from("{"),
    name: "a JSON file",
    todo: "give the whole archive, or the folder that the file lies in",
  },
];

const save = "give an archive that 'docker save' or a tool for OCI layouts wrote";

/**
 * Whether a file that begins so can be a tar.
 *
 * @param block its first 512 bytes
 */
export function beginsLikeTar(block: Buffer): boolean {
  try {
    parseHeader(block);
    return true;
  } catch {
    return false;
  }
}

/**
 * The refusal of a file that is no tar at all.
 *
 * @param start its first bytes, decompressed
 */
export function notAnArchive(path: string, start: Buffer): LarderError {
  const what = `cannot read ${path}`;
  if (start.length === 0) {
    return new LarderError("image", {
      what,
      why: "it is empty",
      todo: "copy or save it again, and check that the disk it was written to was not full",
    });
  }
  const stranger = strangers.find(({ start: magic }) =>
    start.subarray(0, magic.length).equals(magic),
  );
  return new LarderError("image", {
    what,
    why:
      stranger === undefined
        ? "it is not a tar archive"
        : `it is ${stranger.name}, not a tar archive`,
    todo: stranger?.todo ?? save,
  });
}

/** The refusal of a tar, or a directory, that holds something other than an image. */
export function notAnImageArchive(where: string, names: Iterable<string>): LarderError {
  return new LarderError("image", { what: `cannot use ${where}`, ...explain([...names]) });
}

function explain(names: readonly string[]): { why: string; todo: string } {
  if (names.length === 0) {
    return {
      why: "it holds no file at all, as when it was never written to its end",
      todo: "copy it again and compare the sizes, or save the image again",
    };
  }
  if (names.includes("repositories")) {
    return {
      why: "it was written by a Docker older than 1.10 and has no manifest.json",
      todo: "load it into a current Docker and save it again",
    };
  }
  const nested = names.find((name) => /^[^/]+\/(?:oci-layout|manifest\.json)$/.test(name));
  if (nested !== undefined) {
    return {
      why: `its files lie in a folder (${nested}) and not at its root`,
      todo: "make the archive from within that folder (tar -C <folder> -cf <archive> .)",
    };
  }
  if (names.some((name) => name.startsWith("blobs/"))) {
    return {
      why: "it has blobs but neither oci-layout nor manifest.json: it was cut short or is incomplete",
      todo: "copy it again and compare the sizes, or save the image again",
    };
  }
  return {
    why: "it holds neither the manifest.json of a docker archive nor the oci-layout of an OCI image",
    todo: `${save}; what 'docker export' writes is a file system without an image`,
  };
}
