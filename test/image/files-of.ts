import { unpack, type Sink } from "../../src/image/unpack.ts";
import type { Image } from "../../src/registry/image.ts";
import { never } from "../../testbed/archive-case.ts";

/** The files that an image comes to, by base name. */
export async function filesOf(image: Image): Promise<Record<string, Buffer>> {
  const written = new Map<number, Buffer[]>();
  const sink: Sink = {
    create(id) {
      const blocks: Buffer[] = [];
      written.set(id, blocks);
      return { write: (bytes) => void blocks.push(Buffer.from(bytes)), end: () => undefined };
    },
  };
  const survivors = await unpack(image, sink, { signal: never });
  return Object.fromEntries(
    survivors.map(({ id, name }) => [name, Buffer.concat(written.get(id) ?? [])]),
  );
}
