import type { FillResult } from "../cache/store.ts";
import type { MinFree } from "../cache/space.ts";
import type { Image } from "../registry/image.ts";
import type { Platform } from "../registry/platform.ts";
import { parseReference } from "../registry/reference.ts";
import type { Registry } from "../registry/registry.ts";
import type { OpenStore } from "./look.ts";
import type { Job } from "./pulls.ts";

export interface FillingOptions {
  readonly open: OpenStore;
  /** Opened when the first image is needed: a registry client is memory that an idle agent spares. */
  readonly registry: () => Promise<Registry>;
  readonly platform: Platform;
  readonly minFree: MinFree;
  /** Wraps an image whose download rate is bounded. */
  readonly throttle: (image: Image) => Image;
  /** Aborts when little time is left to clear up. */
  readonly hurry: AbortSignal;
  /** Told of bytes as they come in. */
  readonly received: (bytes: number) => void;
}

/** Brings a resource onto the disk. Throws LarderError of whatever stands in the way. */
export async function fill(
  { cache, force }: Job,
  options: FillingOptions,
  signal: AbortSignal,
  alive: () => void,
): Promise<FillResult> {
  const { name, source, cachePath } = cache;
  const store = await options.open(cachePath);
  const openImage = async (aborted: AbortSignal): Promise<Image> => {
    const registry = await options.registry();
    const image = await registry.image(parseReference(source), options.platform, aborted);
    alive();
    return options.throttle(image);
  };
  return store.fill(name, { source }, openImage, {
    signal,
    hurry: options.hurry,
    force,
    owner: "image-cache-agent",
    source,
    minFree: options.minFree,
    progress: {
      layerStarted: alive,
      layerRead: (_index, bytes) => {
        alive();
        options.received(bytes);
      },
      layerDone: alive,
    },
  });
}
