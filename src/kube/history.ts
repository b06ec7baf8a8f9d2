/**
 * Whether one resourceVersion is older than another. Servers number the changes of their history, so
 * they compare as whole numbers; others compare as nothing, and false is the answer.
 */
export function isOlder(one: string, other: string): boolean {
  if (!isNumber(one) || !isNumber(other)) return false;
  return one.length === other.length ? one < other : one.length < other.length;
}

function isNumber(text: string): boolean {
  return /^(?:0|[1-9]\d*)$/.test(text);
}
