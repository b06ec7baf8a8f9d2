/**
 * How many cells of a terminal a text takes. Marks that combine with the letter before them take
 * none, East Asian wide forms and emoji two (Unicode Standard Annex 11).
 */

const zeroWidth = /[\p{Mn}\p{Me}\p{Cf}]/u;

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;

function cellsOf(char: string): number {
  if (char >= " " && char <= "~") return 1;
  if (zeroWidth.test(char)) return 0;
  return wide.test(char) ? 2 : 1;
}

/** Cells of a text without control characters. */
export function widthOf(text: string): number {
  let cells = 0;
  for (const char of text) cells += cellsOf(char);
  return cells;
}

/** The text, or as much of its start as fits in `cells` with an ellipsis behind. */
export function truncate(text: string, cells: number): string {
  if (widthOf(text) <= cells) return text;
  if (cells < 1) return "";
  let kept = "";
  let used = 0;
  for (const char of text) {
    used += cellsOf(char);
    if (used > cells - 1) break;
    kept += char;
  }
  return `${kept}…`;
}
