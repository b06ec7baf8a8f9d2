import { printable } from "../errors.ts";
import type { Image, Layer } from "../registry/image.ts";
import { LayerBoard } from "./layer-board.ts";
import { doneLine, progressLines } from "./progress.ts";
import type { Reporter } from "./reporter.ts";
import type { Screen, Shell } from "./shell.ts";
import { widthOf } from "./width.ts";

const redrawMs = 100;

/**
 * Progress on a terminal: a few live lines, redrawn in place, below whatever stays. The cursor
 * rests on the line below them, and no mode of the terminal is changed for longer than one write, so
 * that nothing is broken wherever this is killed.
 */
export class TerminalReporter implements Reporter {
  readonly #screen: Screen;
  readonly #board: LayerBoard;
  readonly #stop: () => void;
  #status: string | undefined;
  #drawn: readonly string[] = [];
  #above = "";

  constructor({ err, now, every }: Pick<Shell, "err" | "now" | "every">) {
    this.#screen = err;
    this.#board = new LayerBoard(now);
    this.#stop = every(redrawMs, () => {
      this.#draw(this.#lines());
    });
  }

  opened(image: Image): void {
    this.#board.open(image);
    this.#status = undefined;
  }

  layerStarted(index: number, layer: Layer): void {
    this.#board.start(index, layer);
  }

  layerRead(index: number, bytes: number): void {
    this.#board.read(index, bytes);
  }

  layerDone(index: number): void {
    const layer = this.#board.finish(index);
    if (layer !== undefined) this.note(doneLine(layer));
    if (this.#board.finished) this.#status = "flushing to the disk";
  }

  /** Stays on the screen, from the next redraw on: many notes at once cost one. */
  note(line: string): void {
    this.#above += `${printable(line)}\n`;
  }

  warn(line: string): void {
    this.note(`larder: warning: ${line}`);
  }

  status(text: string): void {
    this.#status = printable(text);
  }

  end(): void {
    this.#stop();
    this.#draw([]);
  }

  #lines(): readonly string[] {
    return progressLines({ status: this.#status, layers: this.#board.running }, this.#screen);
  }

  #draw(lines: readonly string[]): void {
    const unchanged = lines.join("\n") === this.#drawn.join("\n");
    if (unchanged && this.#above === "") return;
    const live = lines.map((line) => `${line}\n`).join("");
    const clipped = live === "" ? "" : `${wrapOff}${live}${wrapOn}`;
    // Erased first and written then, in one write: a line that is only written over may be kept as
    // the continuation of the one above, and be joined to it when the width changes.
    this.#screen.write(`${this.#toTop()}${eraseBelow}${this.#above}${clipped}`);
    this.#drawn = lines;
    this.#above = "";
  }

  /**
   * Moves to the first of the live lines. A terminal that was made narrower since then has broken
   * them, as most do, and each takes the rows that its width needs now.
   */
  #toTop(): string {
    const columns = this.#screen.columns || 80;
    const rowsOf = (line: string): number => Math.max(Math.ceil(widthOf(line) / columns), 1);
    const rows = this.#drawn.reduce((sum, line) => sum + rowsOf(line), 0);
    return rows === 0 ? "" : `\r\u001b[${rows}A`;
  }
}

const eraseBelow = "\u001b[J";

// A terminal can be narrower than it has told so far: tmux takes a quarter of a second. Lines that
// broke then would be more than can be counted later.
const wrapOff = "\u001b[?7l";
const wrapOn = "\u001b[?7h";
