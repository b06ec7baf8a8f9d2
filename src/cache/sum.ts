import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";

/**
 * A checksum over bytes as they stream past, written `<algorithm>:<hex>` in the sentinel. It finds
 * damage, not malice: who can change a file can change the sentinel beside it.
 */
export interface Sum {
  update(bytes: Uint8Array): void;
  /** The checksum as the sentinel holds it. Call once, at the end. */
  text(): string;
}

const algorithms: ReadonlyMap<string, () => Sum> = new Map([
  ["crc32", crc32Sum],
  ["sha256", sha256Sum],
]);

/** The checksum that is written: the digests of the layers have proved the content already. */
export const newSum: () => Sum = crc32Sum;

/** The checksum to compare with one from a sentinel; undefined for an algorithm not known here. */
export function sumLike(text: string): Sum | undefined {
  return algorithms.get(text.slice(0, Math.max(text.indexOf(":"), 0)))?.();
}

function crc32Sum(): Sum {
  let value = 0;
  return {
    update: (bytes) => {
      value = crc32(bytes, value);
    },
    text: () => `crc32:${value.toString(16).padStart(8, "0")}`,
  };
}

function sha256Sum(): Sum {
  const hash = createHash("sha256");
  return {
    update: (bytes) => {
      hash.update(bytes);
    },
    text: () => `sha256:${hash.digest("hex")}`,
  };
}
