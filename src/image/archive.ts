import { stat } from "node:fs/promises";

import { interrupted, LarderError } from "../errors.ts";
import type { Image } from "../registry/image.ts";
import type { Platform } from "../registry/platform.ts";
import { ArchiveFile } from "./archive-file.ts";
import { cannotRead, refuseKind } from "./disk-error.ts";
import { DiskFile } from "./disk-file.ts";
import { dockerImage } from "./docker-archive.ts";
import { LayoutDirectory } from "./layout-directory.ts";
import { notAnImageArchive } from "./not-an-archive.ts";
import { layoutImage, MissingBlobError } from "./oci-layout.ts";

/** An image on this machine's disk, open for reading. */
export interface Archive {
  readonly kind: "docker archive" | "OCI archive" | "OCI layout directory";
  readonly image: Image;
  /** Ends all reading; the image's layers cannot be opened after it. */
  close(): Promise<void>;
}

/**
 * Opens a docker archive, an OCI layout archive or an OCI layout directory. Which of them it is, and
 * whether it is compressed, its content says and not its name. It must hold exactly one image.
 *
 * @throws LarderError `disk` where it cannot be read; `image` where it is none of these, is damaged or
 *   holds several images; `platform` where its image is for another platform; `digest` where a manifest
 *   or config is not what its digest says
 */
export async function openArchive(
  path: string,
  want: Platform,
  signal: AbortSignal,
): Promise<Archive> {
  if (signal.aborted) throw interrupted(`reading ${path}`, signal.reason);
  const stats = await stat(path).catch((error: unknown) => {
    throw cannotRead(path, error);
  });
  if (stats.isDirectory()) return openDirectory(path, want, signal);
  // Asked before it is opened, since opening a device can have effects.
  if (!stats.isFile()) throw refuseKind(path, stats);
  return openFile(path, want, signal);
}

async function openDirectory(path: string, want: Platform, signal: AbortSignal): Promise<Archive> {
  const files = new LayoutDirectory(path);
  if ((await files.size("oci-layout")) === undefined) throw noLayout(path);
  const image = await layoutImage(files, want, signal);
  return { kind: "OCI layout directory", image, close: () => files.close() };
}

async function openFile(path: string, want: Platform, signal: AbortSignal): Promise<Archive> {
  const files = await ArchiveFile.open(await DiskFile.open(path, "follow"), signal);
  try {
    return { ...(await imageIn(files, want, signal)), close: () => files.close() };
  } catch (error) {
    await files.close();
    throw error;
  }
}

async function imageIn(
  files: ArchiveFile,
  want: Platform,
  signal: AbortSignal,
): Promise<Pick<Archive, "kind" | "image">> {
  const isDocker = (await files.size("manifest.json")) !== undefined;
  const isLayout = (await files.size("oci-layout")) !== undefined;
  if (isLayout) {
    try {
      return { kind: "OCI archive", image: await layoutImage(files, want, signal) };
    } catch (error) {
      if (!isDocker || !(error instanceof MissingBlobError)) throw error;
      return { kind: "docker archive", image: await dockerInstead(files, want, signal, error) };
    }
  }
  if (!isDocker) throw notAnImageArchive(files.where, files.list());
  return { kind: "docker archive", image: await dockerImage(files, want, signal) };
}

/**
 * `docker save` writes both, and of a multi-platform image an index of which only some platforms'
 * blobs are there: what is whole is then what `manifest.json` says.
 */
async function dockerInstead(
  files: ArchiveFile,
  want: Platform,
  signal: AbortSignal,
  missing: MissingBlobError,
): Promise<Image> {
  try {
    return await dockerImage(files, want, signal);
  } catch (error) {
    throw error instanceof LarderError && error.code === "image" ? missing : error;
  }
}

function noLayout(path: string): LarderError {
  return new LarderError("image", {
    what: `cannot use ${path}`,
    why: "it is a directory without an oci-layout file",
    todo: "give the directory of an OCI layout, or the archive that 'docker save' wrote",
  });
}
