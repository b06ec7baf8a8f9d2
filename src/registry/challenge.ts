/** One way to authenticate that a server offers in WWW-Authenticate. */
export interface Challenge {
  /** Lower case: `bearer`, `basic`. */
  readonly scheme: string;
  /** Names in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
}

// A token, then, if it names a parameter, its value, quoted or not (RFC 9110, 11.6.1).
const part =
  /[\s,]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/y;

/** Parses WWW-Authenticate: several challenges, each with parameters, commas between all of them. */
export function parseChallenges(header: string): Challenge[] {
  const challenges: { scheme: string; parameters: Map<string, string> }[] = [];
  part.lastIndex = 0;
  for (let found = part.exec(header); found !== null; found = part.exec(header)) {
    const [, name = "", quoted, bare] = found;
    const value = quoted?.replace(/\\(.)/g, "$1") ?? bare;
    if (value === undefined) challenges.push({ scheme: name.toLowerCase(), parameters: new Map() });
    else challenges.at(-1)?.parameters.set(name.toLowerCase(), value);
  }
  return challenges;
}
