const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** Rounded up, so that what is asked for is enough. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : (Math.ceil(value * 10) / 10).toFixed(1)} ${units[unit]}`;
}
