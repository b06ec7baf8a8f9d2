/**
 * A date as the MicroTime fields of the API want it: with microseconds, of which Larder knows the
 * thousands.
 *
 * @param date milliseconds since 1970
 */
export function microTime(date: number): string {
  return new Date(date).toISOString().replace("Z", "000Z");
}
