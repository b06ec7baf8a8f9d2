/** A duration for people: `0.3s`, `42s`, `3m 05s`, `2h 10m`. */
export function formatDuration(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`;
  return formatSeconds(Math.round(seconds));
}

/** A time left for people, in whole seconds: tenths of a guess mean nothing. */
export function formatEstimate(milliseconds: number): string {
  return formatSeconds(Math.ceil(milliseconds / 1000));
}

function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  return `${Math.floor(seconds / 3600)}h ${two(Math.floor((seconds % 3600) / 60))}m`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
