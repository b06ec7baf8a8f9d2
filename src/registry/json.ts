/** A JSON object of which nothing is known yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** `value` as an object; undefined for arrays, null and everything else. */
export function asObject(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member that the text itself has, so that nothing inherited (`constructor`) passes for one. */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** A member that is a string and not empty. */
export function text(object: JsonObject, name: string): string | undefined {
  const value = member(object, name);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/**
 * The object that some bytes hold, or undefined. The parser's own error is dropped on purpose: it
 * quotes its input, which may hold a secret that a server echoes.
 */
export function parseObject(bytes: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return asObject(value);
  } catch {
    return undefined;
  }
}
