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

/** A size for people: `999 B`, `1.5 KiB`, `200.0 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${Math.round(bytes)} B`;
  let value = bytes;
  let unit = "";
  for (unit of units) {
    value /= 1024;
    // 1023.95 and more would be printed as 1024.0 of this unit.
    if (value < 1023.95) break;
  }
  return `${value.toFixed(1)} ${unit}`;
}

/** Bytes of `512`, `20k`, `5M`, `1G`, `20Ki`, `5Mi` or `1Gi`; undefined for any other text. */
export function parseBytes(text: string): number | undefined {
  const match = /^(\d{1,15})(k|M|G|Ki|Mi|Gi)?$/.exec(text);
  const factor = factors[match?.[2] ?? ""];
  if (match === null || factor === undefined) return undefined;
  const bytes = Number(match[1]) * factor;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
