import type { Progress } from "../image/unpack.ts";
import type { Image } from "../registry/image.ts";

/** Tells people how a fill goes on. `end` must be called, however the fill ends. */
export interface Reporter extends Progress {
  /** The image is known, and its layers come next. */
  opened(image: Image): void;
  /** Something worth a line of its own: a retry, a wait. */
  note(line: string): void;
  /** Something that should be looked at, though the work goes on. */
  warn(line: string): void;
  /** What goes on now, until it is said anew. */
  status(text: string): void;
  end(): void;
}
