import { isUtf8 } from "node:buffer";

const slash = 0x2f;
const dot = 0x2e;

/** What Linux file systems allow, in bytes. */
const maxNameBytes = 255;

/** An error's reader needs to recognise a path, not to scroll through a megabyte of it. */
const maxShownLength = 300;

const notAscii = /[^\0-\x7f]/; // oxlint-disable-line no-control-regex -- all of ASCII is meant

/**
 * The components of an entry's path from the root of the image: `./a//b`, `/a/b` and `a/x/../b` are
 * one path. `..` is resolved by the text alone and stops at the root.
 *
 * @returns latin1 strings, one character a byte: names need not be UTF-8, and differ when their
 *   bytes do. Each has memory of its own, so keeping one does not keep the path.
 */
export function pathComponents(path: Buffer): string[] {
  const components: string[] = [];
  for (let start = 0; start < path.length;) {
    const found = path.indexOf(slash, start);
    const end = found === -1 ? path.length : found;
    addComponent(components, path.toString("latin1", start, end));
    start = end + 1;
  }
  return components;
}

function addComponent(components: string[], component: string): void {
  if (component === "..") components.pop();
  else if (component !== "" && component !== ".") components.push(component);
}

/** Whether a path says what its file is called: not when it is empty or ends in `.` or `..`. */
export function hasFileName(path: Buffer): boolean {
  let end = path.length;
  while (end > 0 && path[end - 1] === slash) end--;
  if (end === 0) return false;
  const start = path.lastIndexOf(slash, end - 1) + 1;
  const isDots = end - start <= 2 && path[start] === dot && path[end - 1] === dot;
  return !isDots;
}

/** A component as text; bytes that are not UTF-8 become replacement characters. */
export function decodeName(component: string): string {
  return notAscii.test(component) ? Buffer.from(component, "latin1").toString() : component;
}

/** Why a component cannot be the name of a cached file; undefined when it can. */
export function nameFault(component: string): string | undefined {
  if (component.length > maxNameBytes) {
    return `has a name of ${component.length} bytes, and file systems allow ${maxNameBytes}`;
  }
  if (!isUtf8(Buffer.from(component, "latin1"))) return "has a name that is not UTF-8";
  if (/\p{Cc}/u.test(decodeName(component))) return "has a control character in its name";
  return undefined;
}

/** A path for a message: in quotes, the middle left out where it is long. */
export function quotePath(path: string | Buffer): string {
  const text = typeof path === "string" ? path : path.toString();
  if (text.length <= maxShownLength) return `"${text}"`;
  const half = maxShownLength / 2;
  return `"${text.slice(0, half)}[...]${text.slice(-half)}"`;
}
