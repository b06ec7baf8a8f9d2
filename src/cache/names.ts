import { posix } from "node:path";

import { LarderError } from "../errors.ts";

const longestName = 63;
const longestPath = 1024;

const label = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const subdomain = new RegExp(`^${label}(?:\\.${label})*$`);

/** Whether `text` can name an ImageCache: a lower-case DNS subdomain of at most 63 characters. */
export function isName(text: string): boolean {
  return text.length <= longestName && subdomain.test(text);
}

/**
 * A name as the ImageCache resource allows it; it becomes a directory's name and a label's.
 *
 * @throws LarderError `usage`
 */
export function checkName(text: string): string {
  if (isName(text)) return text;
  throw new LarderError("usage", {
    what: `${JSON.stringify(shorten(text))} cannot name an image cache`,
    why: nameProblem(text),
    todo: `use at most ${longestName} lower-case letters, digits, hyphens and dots, as in worker-134-0-0`,
  });
}

/**
 * A cache path as the ImageCache resource allows it, in its one spelling: no doubled slash, none
 * at the end.
 *
 * @throws LarderError `usage`
 */
export function checkCachePath(text: string): string {
  const problem = pathProblem(text);
  if (problem === undefined) {
    const normal = posix.normalize(text);
    return normal.length > 1 && normal.endsWith("/") ? normal.slice(0, -1) : normal;
  }
  throw new LarderError("usage", {
    what: `${JSON.stringify(shorten(text))} cannot be a cache path`,
    why: problem,
    todo: "write an absolute path, as in /var/lib/image-cache",
  });
}

function nameProblem(text: string): string {
  if (text === "") return "it is empty";
  if (text.length > longestName) {
    return `it has ${text.length} characters and the limit is ${longestName}`;
  }
  if (/[A-Z]/.test(text)) return "it has upper-case letters";
  const odd = /[^-.a-z0-9]/u.exec(text)?.[0];
  if (odd !== undefined) return `it has the character ${JSON.stringify(odd)}`;
  return "it, and each part between its dots, must start and end with a letter or a digit";
}

function pathProblem(text: string): string | undefined {
  if (text === "") return "it is empty";
  if (!text.startsWith("/")) return "it does not start with a slash";
  if (text.includes("..")) return 'it has ".." in it';
  if (text.includes("\0")) return "it has a null character in it";
  const length = Array.from(text).length;
  if (length > longestPath) return `it has ${length} characters and the limit is ${longestPath}`;
  return undefined;
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}
