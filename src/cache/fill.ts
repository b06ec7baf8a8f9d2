import { interrupted, LarderError } from "../errors.ts";
import { unpack, type Progress } from "../image/unpack.ts";
import type { Image } from "../registry/image.ts";
import { formatPlatform } from "../registry/platform.ts";
import type { Directory } from "./directory.ts";
import { writeDurably } from "./file.ts";
import type { Run } from "./place.ts";
import { maxSentinelBytes, sentinelName, type Sentinel, type SentinelOwner } from "./sentinel.ts";
import { sentinelPieces } from "./sentinel-pieces.ts";
import { checkSpace, spaceOf, type MinFree } from "./space.ts";
import { swap } from "./swap.ts";
import { Writer } from "./writer.ts";

export interface PullOptions {
  readonly signal: AbortSignal;
  /** Who the sentinel shall say that it belongs to. */
  readonly owner: SentinelOwner;
  /** The reference asked for, or what an archive stands for; goes into the sentinel. */
  readonly source?: string | undefined;
  /** File name of the archive; goes into the sentinel. */
  readonly archive?: string | undefined;
  /** Space that shall stay free. Default none. */
  readonly minFree?: MinFree | undefined;
  readonly progress?: Progress | undefined;
}

/** Brings an image into place under a name, for the one run that holds its lock. */
export async function pull(
  parent: Directory,
  run: Run,
  name: string,
  image: Image,
  options: PullOptions,
): Promise<Sentinel> {
  const { signal, minFree } = options;
  const what = `cannot fill ${parent.path}/${name}`;
  const stored = image.layers.reduce((sum, { size }) => sum + size, 0);
  checkSpace(what, parent.path, spaceOf(parent), stored, minFree);
  const sentinel = await write(run.directory, image, options);
  if (signal.aborted) throw interrupted(what, signal.reason);
  await swap(parent, run.directory, name);
  return sentinel;
}

/** Writes all of an image and its sentinel into the run's directory, durably. */
async function write(hidden: Directory, image: Image, options: PullOptions): Promise<Sentinel> {
  const { signal, minFree, progress } = options;
  const writer = new Writer({ directory: hidden, signal, minFree });
  try {
    const unpacking = progress === undefined ? { signal } : { signal, progress };
    const survivors = await unpack(image, writer, unpacking);
    const sums = await writer.finish(survivors);
    const sentinel = describe(image, survivors, sums, options);
    // The names first: a durable sentinel vouches for them.
    await writer.directory.sync();
    await writeDurably(writer.directory, sentinelName, textOf(sentinel), writer.owner);
    await writer.directory.sync();
    return sentinel;
  } finally {
    await writer.close();
  }
}

function describe(
  image: Image,
  survivors: readonly { readonly name: string; readonly size: number }[],
  sums: ReadonlyMap<string, string>,
  { owner, source, archive }: PullOptions,
): Sentinel {
  const { digest, resolved, platform, layers } = image;
  return {
    digest,
    files: survivors.map((file) => file.name).sort(),
    owner,
    ...(source === undefined ? {} : { source }),
    ...(archive === undefined ? {} : { archive }),
    resolved,
    ...(platform === undefined ? {} : { platform: formatPlatform(platform) }),
    layers: layers.map(({ diffId }) => diffId),
    sizes: sizesOf(survivors),
    sums,
  };
}

function sizesOf(
  survivors: readonly { readonly name: string; readonly size: number }[],
): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const { name, size } of survivors) sizes.set(name, size);
  return sizes;
}

function* textOf(sentinel: Sentinel): Generator<string, void, undefined> {
  let bytes = 0;
  for (const piece of sentinelPieces(sentinel)) {
    bytes += Buffer.byteLength(piece);
    if (bytes > maxSentinelBytes) throw tooLong();
    yield piece;
  }
}

function tooLong(): LarderError {
  return new LarderError("image", {
    what: "cannot write the list of the image's files",
    why: `it would have more than ${maxSentinelBytes} bytes`,
    todo: "put fewer files into the image, or give them shorter names",
  });
}
