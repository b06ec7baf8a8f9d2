import { parseAmount } from "../cache/amount.ts";
import { LarderError } from "../errors.ts";
import type { Image, Layer } from "../registry/image.ts";
import type { Share, TokenBucket } from "./token-bucket.ts";

/**
 * Bytes a second, at least 1, for `--max-bandwidth`: `10M`, `512Ki`, `1.5G`.
 *
 * @throws LarderError `usage`
 */
export function parseBandwidth(text: string): number {
  const bytes = parseAmount(text);
  if (bytes !== undefined && bytes > 0) return bytes;
  throw new LarderError("usage", {
    what: `${JSON.stringify(text)} is no bandwidth for --max-bandwidth`,
    why: "it must be bytes a second (with k, M, G, Ki, Mi or Gi) and more than 0",
    todo: "write it as in 10M or 1.5Gi, or leave it away for no limit",
  });
}

/**
 * The same image, its layers handed on at the bucket's rate. What is throttled is the reading: a source
 * that is not read makes its server wait. Layers of one image share what is one pull's part.
 */
export function throttle(image: Image, bucket: TokenBucket): Image {
  const share = bucket.share();
  return { ...image, layers: image.layers.map((layer) => throttled(layer, share)) };
}

function throttled(layer: Layer, share: Share): Layer {
  return {
    ...layer,
    async *open(signal) {
      for await (const block of layer.open(signal)) {
        await share.take(block.length, `cannot get ${layer.name}`, signal);
        yield block;
      }
    },
  };
}
