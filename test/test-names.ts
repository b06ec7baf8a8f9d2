/** The names of the tests of a file, as they stand in its source. */

/** Where a test or a suite begins, or a row of a table whose first text names a test. */
const starts = /^( *)(?:await |void )?(?:(describe|suite|test|it)\(|(\[)(?=\s*"))\s*/gm;

/** A title that is, or begins with, a variable: the tables of such a file have the names. */
const namedByTable = /^ *(?:test|it)\((?:\w+,|`\$\{)/m;

/**
 * Every name, behind those of the suites that it stands in: `suite > test`. A template is as it was
 * written, `${...}` included. What stands in what is told by the indentation that the formatter makes.
 */
export function testNames(source: string): Set<string> {
  const names = new Set<string>();
  const suites: { readonly depth: number; readonly name: string }[] = [];
  const withTables = namedByTable.test(source);
  for (const { 0: start, 1: indent = "", 2: kind, index } of source.matchAll(starts)) {
    const name = literalAt(source, index + start.length);
    if (name === undefined || (kind === undefined && !withTables)) continue;
    const depth = indent.length;
    while ((suites.at(-1)?.depth ?? -1) >= depth) suites.pop();
    names.add([...suites.map((suite) => suite.name), name].join(" > "));
    if (kind === "describe" || kind === "suite") suites.push({ depth, name });
  }
  return names;
}

/** The text between the quotes or backticks that begin at `start`. */
function literalAt(source: string, start: number): string | undefined {
  const quote = source[start];
  if (quote !== '"' && quote !== "'" && quote !== "`") return undefined;
  let inside = 0;
  for (let at = start + 1; at < source.length; at++) {
    if (source[at] === "\\") at++;
    else if (quote === "`" && source.startsWith("${", at)) inside++;
    else if (inside > 0 && source[at] === "}") inside--;
    else if (inside === 0 && source[at] === quote) return source.slice(start + 1, at);
  }
  return undefined;
}
