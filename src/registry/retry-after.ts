/**
 * Milliseconds that a Retry-After header asks to wait: seconds or an HTTP date, and undefined where it
 * is missing or neither. A date that has passed is 0.
 * @param now milliseconds since 1970
 */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  // Every form of HTTP date begins with a day; Date.parse alone would read "-5" as a year.
  if (!/^(?:mon|tue|wed|thu|fri|sat|sun)/i.test(text)) return undefined;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
