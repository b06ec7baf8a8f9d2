import { formatSentinel, type Sentinel } from "./sentinel.ts";

/** With more files a sentinel is not laid out for people, and comes in pieces. */
const longFiles = 1000;

/** Entries of a long list in one piece. */
const pieceEntries = 1000;

/**
 * The bytes of a sentinel as `formatSentinel` gives them, in pieces that each fit into little memory:
 * in one, and with the objects that JSON.stringify wants, a long one takes more than all its files did.
 */
export function* sentinelPieces(sentinel: Sentinel): Generator<string, void, undefined> {
  if (sentinel.files.length > longFiles) yield* membersInPieces(sentinel);
  else yield formatSentinel(sentinel);
}

function* membersInPieces(sentinel: Sentinel): Generator<string, void, undefined> {
  const { sizes, sums, ...plain } = sentinel;
  let before = "{";
  for (const [key, value] of Object.entries({ ...plain, sizes, sums })) {
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(key)}:`;
    if (key === "files") yield* listPieces(sentinel.files);
    else if (value instanceof Map) yield* objectPieces(value);
    else yield JSON.stringify(value);
    before = ",";
  }
  yield "}\n";
}

function* listPieces(values: readonly string[]): Generator<string, void, undefined> {
  yield "[";
  for (let at = 0; at < values.length; at += pieceEntries) {
    const piece = JSON.stringify(values.slice(at, at + pieceEntries)).slice(1, -1);
    yield at === 0 ? piece : `,${piece}`;
  }
  yield "]";
}

function* objectPieces(
  values: ReadonlyMap<string, number | string>,
): Generator<string, void, undefined> {
  let piece = "{";
  let count = 0;
  for (const key of keysOf(values)) {
    piece += `${count === 0 ? "" : ","}${JSON.stringify(key)}:${JSON.stringify(values.get(key))}`;
    count += 1;
    if (count % pieceEntries > 0) continue;
    yield piece;
    piece = "";
  }
  yield `${piece}}`;
}

/** In the order of an object's keys (ECMA-262, OrdinaryOwnPropertyKeys): whole numbers come first. */
function keysOf(values: ReadonlyMap<string, unknown>): Iterable<string> {
  const numbers = values.keys().filter(isIndex).toArray();
  if (numbers.length === 0) return values.keys();
  numbers.sort((a, b) => Number(a) - Number(b));
  return [...numbers, ...values.keys().filter((key) => !isIndex(key))];
}

function isIndex(key: string): boolean {
  return /^(?:0|[1-9]\d{0,9})$/.test(key) && Number(key) < 2 ** 32 - 1;
}
