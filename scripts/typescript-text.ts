/** Pieces of TypeScript, laid out as the formatter leaves them. */

/** Columns, the indentation of a member included. */
const width = 96;

/** A doc comment with its line end; nothing where there is nothing to say. */
export function docComment(text: string | undefined): string {
  if (text === undefined) return "";
  const lines = wrap(text.replaceAll("*/", "* /"));
  if (lines.length === 1) return `/** ${lines[0]} */\n`;
  return `/**\n${lines.map((line) => ` * ${line}\n`).join("")} */\n`;
}

export function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, "  ");
}

/** `cachePath` as `CachePath`. */
export function pascal(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

function wrap(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.trim().split(/\s+/)) {
    const line = lines.at(-1);
    if (line === undefined || line.length + word.length + 4 > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}
