/** What a PromQL expression asks for, read as far as a check of names needs it. */

export interface Matcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

export interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
}

export interface Query {
  readonly selectors: readonly Selector[];
  /** Labels by which it groups or joins. */
  readonly labels: readonly string[];
}

const token =
  /\s+|(?<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<name>[a-zA-Z_][\w:]*)|(?<number>[\d.][\w.]*)|(?<sign>[=!]~|[=!<>]=|[-+*/%^=<>(){}[\],:@])/y;

/** Before a list of labels in brackets. */
const grouping = new Set(["by", "without", "on", "ignoring", "group_left", "group_right"]);
const operators = new Set(["and", "or", "unless", "bool", "offset", "atan2", "inf", "nan"]);

/** @throws on anything that PromQL does not have, and on selectors without a metric's name */
export function readQuery(expression: string): Query {
  const words = wordsOf(expression);
  const selectors: Selector[] = [];
  const labels: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const next = words[at + 1];
    if (word === "{") throw new Error(`a selector without a metric's name: ${expression}`);
    if (grouping.has(word)) {
      const end = next === "(" ? words.indexOf(")", at) : at;
      labels.push(...words.slice(at + 2, end).filter((each) => each !== ","));
      at = end;
    } else if (isMetric(word, next)) {
      const end = next === "{" ? words.indexOf("}", at) : at;
      selectors.push({ metric: word, matchers: matchersOf(words.slice(at + 2, end)) });
      at = end;
    }
  }
  return { selectors, labels };
}

/** A name that is neither a function, nor an aggregation, nor an operator. */
function isMetric(word: string, next: string | undefined): boolean {
  if (!/^[a-zA-Z_]/.test(word) || operators.has(word)) return false;
  return next !== "(" && next !== "by" && next !== "without";
}

function matchersOf(words: readonly string[]): Matcher[] {
  const matchers: Matcher[] = [];
  for (let at = 0; at < words.length; at += 4) {
    const [label = "", operator = "", value = "", comma = ","] = words.slice(at, at + 4);
    if (!/^["'].*["']$/.test(value) || comma !== ",")
      throw new Error(`no matchers: ${words.join(" ")}`);
    matchers.push({ label, operator, value: value.slice(1, -1) });
  }
  return matchers;
}

function wordsOf(expression: string): string[] {
  const words: string[] = [];
  for (token.lastIndex = 0; token.lastIndex < expression.length;) {
    const at = token.lastIndex;
    const match = token.exec(expression);
    if (match === null) throw new Error(`no PromQL at ${expression.slice(at)}`);
    if (match.groups?.["name"] ?? match[0].trim()) words.push(match[0]);
  }
  return words;
}
