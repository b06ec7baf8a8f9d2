const units = ["KiB", "MiB", "GiB", "TiB", "PiB"] as const;

const factors: Readonly<Record<string, number>> = {
  "": 1,
  k: 1000,
  M: 1000 ** 2,
  G: 1000 ** 3,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
};

/**
 * An amount for people: `999 B`, `1.5 KiB`, `200.0 MiB`. Rounded up, so that freeing what a message asks
 * for is enough; at most ten characters for what a disk can hold.
 */
export function formatBytes(bytes: number): string {
  if (bytes <= 1023) return `${Math.ceil(bytes)} B`;
  let tenths = 0;
  let unit = "";
  let value = bytes;
  for (unit of units) {
    value /= 1024;
    tenths = Math.ceil(value * 10);
    if (tenths < 10_240) break;
  }
  return `${(tenths / 10).toFixed(1)} ${unit}`;
}

/**
 * Bytes of `512`, `20k`, `5M`, `1.5G`, `20Ki`, `5Mi` or `1.5Gi`, whole ones; undefined for any other
 * text. A fraction needs a unit: there is no half a byte.
 */
export function parseAmount(text: string): number | undefined {
  const match = /^(\d{1,15})(\.\d{1,9}(?=\D))?(k|M|G|Ki|Mi|Gi)?$/.exec(text);
  const factor = factors[match?.[3] ?? ""];
  if (match === null || factor === undefined) return undefined;
  const bytes = Math.floor(Number(`${match[1]}${match[2] ?? ""}`) * factor);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
