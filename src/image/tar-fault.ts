/**
 * Why bytes make no tar archive. The parsers know neither the archive's name nor the place in it, so
 * `TarReader` catches this and throws a `LarderError` that has both.
 */
export class TarFault extends Error {
  /** What the reader of the message can do, where it is more than getting a sound archive. */
  readonly todo: string | undefined;

  constructor(why: string, todo?: string) {
    super(why);
    this.name = "TarFault";
    this.todo = todo;
  }
}
