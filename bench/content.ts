/** Bytes that compress 2:1 with gzip and zstd, the same on every machine. */
const piece = 64;
const recent = 8 * 1024;

/**
 * Fills a buffer with 64 random bytes and 64 bytes copied from the last 8 KiB, in turn.
 * @param seed 32 bits; one seed gives one content
 */
export function halfCompressible(bytes: number, seed: number): Buffer {
  const content = Buffer.alloc(bytes);
  const random = xorshift(seed);
  for (let at = 0; at < bytes; at += 2 * piece) {
    for (let word = at; word < Math.min(at + piece, bytes - 3); word += 4) {
      content.writeUInt32LE(random(), word);
    }
    const back = piece + (random() % (recent - piece));
    const from = Math.max(0, at + piece - back);
    content.copy(content, at + piece, from, from + piece);
  }
  return content;
}

/** Marsaglia's 32-bit xorshift: fast, and good enough that no compressor finds a pattern. */
function xorshift(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
}
