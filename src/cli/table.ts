import { widthOf } from "./width.ts";

/** Rows in columns as wide as they need to be, two spaces apart; nothing trails the last. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, widthOf(cell));
    }
  }
  const pad = (cell: string, index: number): string =>
    cell + " ".repeat(Math.max((widths[index] ?? 0) - widthOf(cell), 0));
  return rows.map((row) => `${row.map(pad).join("  ").trimEnd()}\n`).join("");
}
