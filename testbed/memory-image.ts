/** An Image whose layers are in memory, for tests of what stands behind a source. */
import type { Image, Layer } from "../src/registry/image.ts";
import type { BuiltImage, BuiltLayer } from "./built-image.ts";

export interface MemoryImageOptions {
  /** Bytes in a piece; default 64 KiB, as sockets deliver them. */
  readonly pieceSize?: number;
  /** What is served in place of a layer's bytes. */
  readonly serve?: (blob: Buffer, index: number) => Buffer;
  /** Told when a layer's iteration has ended, whichever way. */
  readonly onClose?: (index: number) => void;
}

export function memoryImage(built: BuiltImage, options: MemoryImageOptions = {}): Image {
  return {
    name: "registry.example.com/app:1",
    digest: built.digest,
    resolved: built.digest,
    platform: built.platform,
    layers: built.layers.map((layer, index) => memoryLayer(layer, index, options)),
  };
}

function memoryLayer(layer: BuiltLayer, index: number, options: MemoryImageOptions): Layer {
  const { pieceSize = 65_536, serve = (blob) => blob, onClose } = options;
  return {
    name: `layer ${index + 1} of registry.example.com/app:1`,
    mediaType: layer.mediaType,
    digest: layer.digest,
    size: layer.blob.length,
    diffId: layer.diffId,
    async *open(signal) {
      try {
        const bytes = serve(layer.blob, index);
        for (let at = 0; at < bytes.length; at += pieceSize) {
          signal.throwIfAborted();
          yield bytes.subarray(at, at + pieceSize);
        }
      } finally {
        onClose?.(index);
      }
    },
  };
}
