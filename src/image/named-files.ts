import { LarderError } from "../errors.ts";

/** Files by name, which is all that a docker archive or an OCI layout is: a tar and a directory each are one. */
export interface NamedFiles {
  /** The path that was asked for, for messages: `/mnt/usb/app.tar`. */
  readonly where: string;
  /**
   * Bytes of the file; undefined where there is none of that name.
   *
   * @param name clean, relative and with `/`: `blobs/sha256/<hex>`, `manifest.json`
   * @throws LarderError `image` where something of that name is there and is no file
   */
  size(name: string, signal: AbortSignal): Promise<number | undefined>;
  /**
   * The whole content, which must be small.
   *
   * @param limit in bytes
   * @throws LarderError `image` where it is missing or larger than `limit`
   */
  readSmall(name: string, limit: number, signal: AbortSignal): Promise<Buffer>;
  /**
   * The content as a stream, of any number of files at a time. Ending the iteration early or
   * aborting `signal` releases everything.
   *
   * @throws LarderError `image` where it is missing, `disk` where it cannot be read
   */
  open(name: string, signal: AbortSignal): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

/** Manifests, indexes and configs are read up to this many bytes. */
export const documentLimit = 8 * 1024 * 1024;

/** The refusal of a file that is too large to be what its name says. */
export function refuseLarge(name: string, where: string, size: number, limit: number): LarderError {
  return new LarderError("image", {
    what: `cannot read ${name} of ${where}`,
    why: `it has ${size} bytes, more than the ${limit} that such a file may have`,
    todo: "it is damaged or hostile: save the image again",
  });
}

/** The refusal where a file is not there that must be. */
export function refuseMissing(name: string, where: string): LarderError {
  return new LarderError("image", {
    what: `cannot read ${name} of ${where}`,
    why: "there is no file of that name in it",
    todo: "it is incomplete: copy it again and compare the sizes, or save the image again",
  });
}
